// Command relations-mutating-webhook injects the agent into pods of opted-in
// namespaces, and judges declarations, at admission.
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

const help = `relations-mutating-webhook injects the relation agent into pods that declare what
they consume, and judges declarations on Services and workloads.

Usage:
  relations-mutating-webhook [flags]

Examples:
  # in the cluster, as the prototype was started
  relations-mutating-webhook -tenguCfgFile=/etc/webhook/config/tenguconfig.yaml \
    -tlsCertFile=/etc/webhook/certs/cert.pem -tlsKeyFile=/etc/webhook/certs/key.pem -alsologtostderr -v=4
  # in the cluster, with a certificate signed by Orcon's own authority
  relations-mutating-webhook -tenguCfgFile=/etc/webhook/config/tenguconfig.yaml
  # on a developer's machine, against a test cluster
  relations-mutating-webhook -kubeconfig ~/.kube/config -namespace orcon-system -tlsCertFile cert.pem -tlsKeyFile key.pem

Flags:
`

// options are the flags.
type options struct {
	namespace            string
	configFile           string
	certFile, keyFile    string
	webhookConfiguration string
	port, healthPort     int
}

func main() {
	o, err := parse(flag.CommandLine, os.Args[1:])
	if err == nil {
		err = start(ctrl.SetupSignalHandler(), o)
	}
	glog.Flush()
	if err != nil {
		fmt.Fprintln(os.Stderr, "relations-mutating-webhook:", err)
		os.Exit(1)
	}
}

func parse(flags *flag.FlagSet, args []string) (options, error) {
	var o options
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), help)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.namespace, "namespace", installation.OwnNamespace(), "Orcon's own namespace")
	flags.StringVar(&o.configFile, "tenguCfgFile", "", "tenguconfig.yaml; reloaded on change (default: the built-in settings)")
	flags.StringVar(&o.certFile, "tlsCertFile", "", "serving certificate; reloaded on change (default: signed by Orcon's own authority)")
	flags.StringVar(&o.keyFile, "tlsKeyFile", "", "key of that certificate")
	flags.StringVar(&o.webhookConfiguration, "webhookConfiguration", "relations-mutating-webhook",
		"MutatingWebhookConfiguration that must trust the certificate before this replica is ready; empty for none")
	flags.IntVar(&o.port, "port", 8080, "port of the webhook, HTTPS")
	flags.IntVar(&o.healthPort, "healthPort", 8081, "port of /healthz, /readyz and /metrics, HTTP")
	if err := flags.Set("logtostderr", "true"); err != nil {
		return o, fmt.Errorf("cannot log to standard error: %w", err)
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	return o, o.check(flags.Args())
}

func (o options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q: see --help", rest[0])
	case (o.certFile == "") != (o.keyFile == ""):
		return fmt.Errorf("-tlsCertFile and -tlsKeyFile go together: give both, or none for Orcon's own authority")
	case o.namespace == "":
		return fmt.Errorf("the namespace is not known: set POD_NAMESPACE or -namespace")
	default:
		return nil
	}
}

func start(ctx context.Context, o options) error {
	ctrl.SetLogger(glogr.New())
	rest, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot find the cluster: %w: run in a pod, or give -kubeconfig", err)
	}
	rest.QPS = -1 // the API server's own fairness limits us
	w, err := newWebhook(ctx, rest, o)
	if err != nil {
		return err
	}
	glog.Infof("relations-mutating-webhook: namespace %s, webhook on :%d, health and metrics on :%d", o.namespace, o.port, o.healthPort)
	if advice := installation.Advice(o.namespace); advice != "" {
		glog.Warning(advice)
	}
	return w.manager.Start(w.drain.until(ctx))
}
