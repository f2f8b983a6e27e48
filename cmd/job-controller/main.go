// Command job-controller carries out stateful runs: it keeps JobWorkspaces and JobRuns, makes the Jobs of runs, and serves
// the jobs API to their keepers.
//
// What must not come in: decisions and loops; they are controller/job's.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/glogr"
	"github.com/golang/glog"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

const help = `job-controller carries out stateful runs: it lets one JobRun of a JobWorkspace run at a time,
makes a Job for it, and keeps the state that the run leaves.

Usage:
  job-controller [flags]

Examples:
  job-controller -runnerImage registry.example.org/orcon/job-runner:v1 -directory /states
  job-controller -runnerImage registry.example.org/orcon/job-runner:v1 \
    -s3Endpoint https://s3.example.org -s3Bucket states -s3AccessKeyFile /s3/access -s3SecretKeyFile /s3/secret

States are stored in a directory, for one replica, or in a bucket that has the S3 API, for several.
They are encrypted by the keys of Secret job-controller-keys, which is made at the first start, or by those of -keys. Keep
a copy of the keys elsewhere: without them no state can be read.

Flags:
`

// settings are the flags.
type settings struct {
	namespace   string
	leaderElect bool
	// runnerImage is that of job-runner, and address how pods reach the jobs API.
	runnerImage, address string
	// most bounds how many runs there are at the same time.
	most run.Most
	// keeper are the settings of the keepers of states.
	keeper executor.Settings
	// received is the folder of blobs that are being received.
	received string

	serving
	store
	building
	remote
}

// building are the flags of the builder of templates.
type building struct {
	// contents is the folder of contents that are fetched.
	contents string
	// registry is HOST/PATH of images of templates, and credentials the folder of those of the registry.
	registry, credentials string
}

// serving are the flags of the servers.
type serving struct {
	port, healthPort  int
	certFile, keyFile string
}

func main() {
	supply.Child(nil)
	s, err := parse(flag.CommandLine, os.Args[1:])
	if err == nil {
		err = start(ctrl.SetupSignalHandler(), s)
	}
	if errors.Is(err, flag.ErrHelp) {
		err = nil
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "job-controller:", err)
	}
	glog.Flush()
	if err != nil {
		os.Exit(1)
	}
}

// parse returns the settings by arguments.
func parse(flags *flag.FlagSet, args []string) (settings, error) {
	var s settings
	s.define(flags)
	if err := flags.Set("logtostderr", "true"); err != nil {
		return s, fmt.Errorf("cannot log to standard error: %w", err)
	}
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q: see --help", flags.Arg(0))
	}
	s.address = cmp.Or(s.address, "https://"+certificate.ServiceNames(name, s.namespace)[0])
	return s, s.check()
}

// define adds the flags.
func (s *settings) define(flags *flag.FlagSet) {
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), help)
		flags.PrintDefaults()
	}
	flags.StringVar(&s.namespace, "namespace", installation.OwnNamespace(), "Orcon's own namespace, where renewals of runs are kept")
	flags.BoolVar(&s.leaderElect, "leaderElect", true, "let one replica of several write")
	flags.StringVar(&s.runnerImage, "runnerImage", "", "image of job-runner, which is in each pod of a run; required")
	flags.StringVar(&s.address, "address", "", "URL by which pods reach the jobs API; unset is that of the Service "+name)
	flags.IntVar(&s.most.Installation, "maxRuns", 0, "number of runs that hold a lock at the same time, in all namespaces; 0 for no limit")
	flags.IntVar(&s.most.Namespace, "maxRunsPerNamespace", 0, "number of those in one namespace; 0 for no limit")
	flags.Int64Var(&s.keeper.Limit, "stateLimit", 64<<20, "bytes that the state of a run may have as an archive; up to 512 MiB")
	flags.DurationVar(&s.keeper.Checkpoint, "checkpointEvery", 30*time.Second, "time between checkpoints of the state of a run that goes on")
	flags.StringVar(&s.received, "received", os.TempDir(), "folder of states that are being received: four at once, of up to 512 MiB each")
	s.serving.define(flags)
	s.store.define(flags)
	s.building.define(flags)
	s.remote.define(flags)
}

// define adds the flags.
func (b *building) define(flags *flag.FlagSet) {
	flags.StringVar(&b.contents, "contents", filepath.Join(os.TempDir(), "contents"),
		"folder of contents of templates that are fetched, of up to 2 GiB")
	flags.StringVar(&b.registry, "templateRegistry", "", "HOST/PATH of the registry of images of templates, "+
		"which are HOST/PATH/NAMESPACE/TEMPLATE; unset builds none")
	flags.StringVar(&b.credentials, "templateRegistryCredentials", "",
		"folder with the files username and password, or token, of that registry, and ca.crt if its certificate is one of your own")
}

// define adds the flags.
func (s *serving) define(flags *flag.FlagSet) {
	flags.IntVar(&s.port, "port", 8443, "port of the jobs API")
	flags.IntVar(&s.healthPort, "healthPort", 8081, "port of /healthz, /readyz and /metrics")
	flags.StringVar(&s.certFile, "tlsCertFile", "", "certificate of the jobs API, which ConfigMap orcon-trust of the own namespace "+
		"must verify; reloaded on change; unset signs one by Orcon's own authority")
	flags.StringVar(&s.keyFile, "tlsKeyFile", "", "key of that certificate")
}

// check returns what is wrong with the settings.
func (s *settings) check() error {
	switch {
	case s.namespace == "":
		return errors.New("the namespace is unknown: set POD_NAMESPACE or -namespace")
	case s.runnerImage == "":
		return errors.New("-runnerImage is missing: name the image of job-runner of this version")
	case s.most.Installation < 0 || s.most.Namespace < 0:
		return errors.New("-maxRuns and -maxRunsPerNamespace must not be negative: use 0 for none")
	case s.keeper.Limit < 1 || s.keeper.Limit > serve.DefaultLimits().State:
		return fmt.Errorf("-stateLimit %d cannot be used: choose 1 to %d bytes", s.keeper.Limit, serve.DefaultLimits().State)
	case s.keeper.Checkpoint <= 0:
		return fmt.Errorf("-checkpointEvery %s cannot be used: choose a time such as 30s", s.keeper.Checkpoint)
	case (s.certFile == "") != (s.keyFile == ""):
		return errors.New("-tlsCertFile and -tlsKeyFile go together: set both, or none for Orcon's own authority")
	}
	return errors.Join(s.store.check(), s.remote.check())
}

func start(ctx context.Context, s settings) error {
	ctrl.SetLogger(glogr.New())
	glog.CopyStandardLogTo("INFO") // what net/http reports of handshakes
	rest, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot find the cluster: %w: run in a pod, or use -kubeconfig", err)
	}
	rest.QPS = -1 // the API server's own fairness limits us
	c, err := newController(ctx, rest, s)
	if err != nil {
		return err
	}
	glog.Infof("job-controller: namespace %s, jobs API on :%d, health and metrics on :%d", s.namespace, s.port, s.healthPort)
	return errors.Join(c.manager.Start(ctx), c.close())
}
