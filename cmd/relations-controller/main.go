// Command relations-controller makes and keeps relations, and serves them to
// agents.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/glogr"
	"github.com/golang/glog"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
)

const help = `relations-controller makes relations between the services of opted-in namespaces,
keeps their data, and serves it to agents.

Usage:
  relations-controller [flags]

Examples:
  relations-controller -alsologtostderr -v=1
  relations-controller -kubeconfig ~/.kube/config -namespace orcon-system -leaderElect=false
  relations-controller -tlsCertFile=/tls/tls.crt -tlsKeyFile=/tls/tls.key -trustFile=/tls/ca.crt

Flags:
`

// settings are the flags.
type settings struct {
	namespace            string
	certFile, keyFile    string
	trustFile            string
	webhookConfiguration string
	port, healthPort     int
	leaderElect          bool
}

func main() {
	s, err := parse(flag.CommandLine, os.Args[1:])
	if err == nil {
		err = start(ctrl.SetupSignalHandler(), s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "relations-controller:", err)
		glog.Flush()
		os.Exit(1)
	}
}

func parse(flags *flag.FlagSet, args []string) (settings, error) {
	var s settings
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), help)
		flags.PrintDefaults()
	}
	flags.StringVar(&s.namespace, "namespace", installation.OwnNamespace(), "Orcon's own namespace")
	flags.StringVar(&s.certFile, "tlsCertFile", "",
		"certificate of the relations API; reloaded on change (default: signed by Orcon's own authority)")
	flags.StringVar(&s.keyFile, "tlsKeyFile", "", "key of that certificate")
	flags.StringVar(&s.trustFile, "trustFile", "", "authorities that agents must trust, with -tlsCertFile")
	flags.StringVar(&s.webhookConfiguration, "webhookConfiguration", "", "MutatingWebhookConfiguration whose caBundle to keep (default: none)")
	flags.IntVar(&s.port, "port", 8443, "port of the relations API")
	flags.IntVar(&s.healthPort, "healthPort", 8081, "port of /healthz, /readyz and /metrics")
	flags.BoolVar(&s.leaderElect, "leaderElect", true, "let one replica of several write")
	if err := flags.Set("logtostderr", "true"); err != nil {
		return s, fmt.Errorf("cannot log to standard error: %w", err)
	}
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	return s, s.check(flags.Args())
}

func (s settings) check(rest []string) error {
	files := 0
	for _, f := range []string{s.certFile, s.keyFile, s.trustFile} {
		if f != "" {
			files++
		}
	}
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q: see --help", rest[0])
	case files != 0 && files != 3:
		return fmt.Errorf("-tlsCertFile, -tlsKeyFile and -trustFile go together: give all three, or none for Orcon's own authority")
	case s.namespace == "":
		return fmt.Errorf("the namespace is not known: set POD_NAMESPACE or -namespace")
	default:
		return nil
	}
}

func start(ctx context.Context, s settings) error {
	ctrl.SetLogger(glogr.New())
	glog.CopyStandardLogTo("INFO") // what net/http says of handshakes
	rest, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot find the cluster: %w: run in a pod, or give -kubeconfig", err)
	}
	rest.QPS = -1 // the API server's own fairness limits us
	c, err := newController(ctx, rest, s)
	if err != nil {
		return err
	}
	glog.Infof("relations-controller: namespace %s, relations API on :%d, health and metrics on :%d", s.namespace, s.port, s.healthPort)
	if advice := installation.Advice(s.namespace); advice != "" {
		glog.Warning(advice)
	}
	return c.manager.Start(ctx)
}
