// Command bundle-controller keeps BundleDeployments: it installs, upgrades and removes
// what they want, each by its own account.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/glogr"
	"github.com/golang/glog"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
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
}

func main() {
	supply.Child()
	s, err := parse(flag.CommandLine, os.Args[1:])
	if err == nil {
		err = start(ctrl.SetupSignalHandler(), s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bundle-controller:", err)
		glog.Flush()
		os.Exit(1)
	}
}

func parse(flags *flag.FlagSet, args []string) (settings, error) {
	s := settings{mirrors: mirrors{}}
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
	flags.IntVar(&s.healthPort, "healthPort", 8081, "port of /healthz, /readyz and /metrics")
	flags.IntVar(&s.webhookPort, "webhookPort", 8082, "port of the webhooks of IntegrationSets, /fleet/NAMESPACE/NAME, HTTP; 0 for none")
	flags.BoolVar(&s.leaderElect, "leaderElect", true, "let one replica of several write")
	if err := flags.Set("logtostderr", "true"); err != nil {
		return s, fmt.Errorf("cannot log to standard error: %w", err)
	}
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	for _, hosts := range s.mirrors { // who names a mirror allows it
		for _, host := range hosts {
			s.allowed.AddHost(host)
		}
	}
	switch {
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q: see --help", flags.Arg(0))
	case s.resync < time.Second:
		return s, fmt.Errorf("-resync %s is too short: use at least 1s", s.resync)
	case s.namespace == "":
		return s, fmt.Errorf("the namespace is unknown: set POD_NAMESPACE or -namespace")
	}
	return s, nil
}

func start(ctx context.Context, s settings) error {
	ctrl.SetLogger(glogr.New())
	rest, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot find the cluster: %w: run in a pod, or use -kubeconfig", err)
	}
	rest.QPS = -1 // the API server's own fairness limits us
	m, err := newManager(ctx, rest, s)
	if err != nil {
		return err
	}
	glog.Infof("bundle-controller: namespace %s, health and metrics on :%d", s.namespace, s.healthPort)
	return m.Start(ctx)
}
