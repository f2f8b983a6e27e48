// Command bundle-controller keeps BundleDeployments: it installs, upgrades and removes
// what they want, each by its own account.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/glogr"
	"github.com/golang/glog"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
)

const help = `bundle-controller keeps BundleDeployments: it fetches and renders what they want, carries
it out in order, goes back when that fails, and puts right what others change.

Usage:
  bundle-controller [flags]

Examples:
  bundle-controller -alsologtostderr -v=1
  bundle-controller -kubeconfig ~/.kube/config -namespace orcon-system -leaderElect=false
  bundle-controller -mirror registry.example.org=mirror.example.org -resync 5m
  bundle-controller -allow registry.shop.svc,10.20.0.0/16
  INTEGRATION_NAME=integrations-manager MANAGER_DRY_RUN=--no-dry-run bundle-controller

Variables of a chart of fleets are defaults of flags; a flag wins:
  INTEGRATION_NAME                         -integration
  ENVIRONMENT_NAME                         -environment
  MANAGER_DRY_RUN                          -dryRun: --dry-run, or --no-dry-run
  INTEGRATIONS_MANAGER_UPSTREAM            -upstream
  INTEGRATIONS_MANAGER_IMAGE               -image
  INTEGRATIONS_MANAGER_IMAGE_TAG_FROM_REF  -imageTagFromRef
  SLEEP_DURATION_SECS                      -dataInterval, in seconds
  LOG_FILE                                 -logFile
  INTEGRATION_EXTRA_ARGS                   further flags, joined by blanks

Flags:
`

// settings are the flags.
type settings struct {
	namespace   string
	cache       string
	mirrors     mirrors
	allowed     destination.Allowed
	serverURL   string
	resync      time.Duration
	healthPort  int
	webhookPort int
	leaderElect bool
	logFile     string
	fleetSettings
}

// fleetSettings are the flags about IntegrationSets.
type fleetSettings struct {
	integration     string
	environment     string
	upstream        string
	image           string
	imageTagFromRef imageRefs
	// process are the parameters that an integration passes on.
	process      map[string]string
	dryRun       bool
	dataInterval time.Duration
}

func main() {
	supply.Child(render.Output)
	s, err := parse(flag.CommandLine, os.Args[1:], os.Getenv)
	end := func() {}
	if err == nil && s.logFile != "" {
		end, err = logTo(s.logFile)
	}
	if err == nil {
		err = start(ctrl.SetupSignalHandler(), s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle-controller:", err)
	}
	glog.Flush()
	end()
	if err != nil {
		os.Exit(1)
	}
}

// parse returns the settings by arguments, and by variables where no argument has them.
func parse(flags *flag.FlagSet, args []string, getenv func(string) string) (settings, error) {
	s := settings{mirrors: mirrors{}}
	s.define(flags)
	if err := flags.Set("logtostderr", "true"); err != nil {
		return s, fmt.Errorf("cannot log to standard error: %w", err)
	}
	if err := setDefaults(flags, getenv); err != nil {
		return s, err
	}
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q: see --help", flags.Arg(0))
	}
	for _, hosts := range s.mirrors { // who names a mirror allows it
		for _, host := range hosts {
			s.allowed.AddHost(host)
		}
	}
	if s.dataInterval == 0 {
		s.dataInterval = s.resync
	}
	port := healthPort
	if s.integration != "" {
		port, s.process = integrationPort, domain.ProcessParameters(getenv)
	}
	s.healthPort = cmp.Or(s.healthPort, port)
	return s, s.check()
}

// The ports of health and metrics: that of the shipped Deployment, and the one that charts of fleets have for integrations.
const (
	healthPort      = 8081
	integrationPort = 9090
)

// define adds the flags.
func (s *settings) define(flags *flag.FlagSet) {
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), help)
		flags.PrintDefaults()
	}
	flags.StringVar(&s.namespace, "namespace", installation.OwnNamespace(), "Orcon's own namespace, where replicas agree on a leader")
	flags.StringVar(&s.cache, "cache", filepath.Join(os.TempDir(), name),
		"folder of this process alone for fetched content; pinned content stays there, 512 MiB at most")
	flags.Var(s.mirrors, "mirror", "registry=mirror: a host to ask before a registry; may be given several times")
	flags.Func("allow", "servers that sources may name although they are refused, joined by commas: networks (10.0.0.0/8), addresses, "+
		"hosts (registry.shop.svc); refused are loopback, link-local, metadata and cluster addresses", s.allowed.Set)
	flags.StringVar(&s.serverURL, "serverURL", "", "address of this cluster in the data of fleets, as in serverUrl of its file: "+
		"an IntegrationSet that names a cluster with another one stamps nothing; unset compares nothing")
	flags.DurationVar(&s.resync, "resync", 2*time.Minute, "how often what is settled is looked at, and what is tracked is fetched")
	flags.IntVar(&s.healthPort, "healthPort", 0, fmt.Sprintf("port of /healthz, /readyz and /metrics; unset is %d, and %d with -integration",
		healthPort, integrationPort))
	flags.IntVar(&s.webhookPort, "webhookPort", 8082, "port of the webhooks of IntegrationSets, /fleet/NAMESPACE/NAME, HTTP; 0 for none")
	flags.BoolVar(&s.leaderElect, "leaderElect", true, "let one replica of several write")
	flags.StringVar(&s.logFile, "logFile", "", "file to which logs are written too; it grows without limit; unset is none")
	s.fleetSettings.define(flags)
}

// define adds the flags about IntegrationSets.
func (s *fleetSettings) define(flags *flag.FlagSet) {
	flags.StringVar(&s.integration, "integration", "", "integration of the data as which this controller runs: it loses no workload without "+
		"a confirmation, and while another program runs under this name in a namespace, sets only plan; unset is none")
	flags.StringVar(&s.environment, "environment", "", "environment of IntegrationSets that name none; unset stops these")
	flags.StringVar(&s.upstream, "upstream", "", "upstream of IntegrationSets that name none; unset selects all integrations")
	flags.StringVar(&s.image, "image", "", "parameter IMAGE of IntegrationSets that give it no value, without a tag; this controller's own "+
		"member keeps its image; unset leaves it to the environments")
	flags.Var(&s.imageTagFromRef, "imageTagFromRef", "environment=ref: parameter IMAGE_TAG of this environment is the commit of a branch or "+
		"tag of an integration's upstream, in IntegrationSets that give no other; several are joined by commas or blanks")
	flags.BoolVar(&s.dryRun, "dryRun", false, "have IntegrationSets only plan: they count in their status what they would write")
	flags.DurationVar(&s.dataInterval, "dataInterval", 0, "how often data of IntegrationSets are fetched; unset is -resync")
}

// check returns what is wrong with the settings.
func (s *settings) check() error {
	last := s.image[strings.LastIndex(s.image, "/")+1:]
	switch {
	case s.resync < time.Second:
		return fmt.Errorf("-resync %s is too short: use at least 1s", s.resync)
	case s.dataInterval < time.Second:
		return fmt.Errorf("-dataInterval %s is too short: use at least 1s", s.dataInterval)
	case strings.ContainsAny(last, ":@"):
		return fmt.Errorf("-image or variable INTEGRATIONS_MANAGER_IMAGE is %q, which has a tag or digest: leave it out here, and set parameter "+
			"IMAGE_TAG in the environment's file or in spec.chart.parameters of the set", s.image)
	case s.namespace == "":
		return fmt.Errorf("the namespace is unknown: set POD_NAMESPACE or -namespace; %s", ownToken)
	}
	return nil
}

func start(ctx context.Context, s settings) error {
	ctrl.SetLogger(glogr.New())
	rest, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot find the cluster: %w: run in a pod, or use -kubeconfig", err)
	}
	if err := verifiable(rest); err != nil {
		return err
	}
	rest.QPS = -1 // the API server's own fairness limits us
	m, err := newManager(ctx, rest, s)
	if err != nil {
		return err
	}
	glog.Infof("bundle-controller: namespace %s, health and metrics on :%d", s.namespace, s.healthPort)
	return m.Start(ctx)
}
