package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	fleetv1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	jobv1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// clusterOptions say which cluster and namespace, as kubectl's flags do.
type clusterOptions struct{ kubeconfig, context, namespace string }

func (o *clusterOptions) flags(c *cobra.Command) {
	c.Flags().StringVarP(&o.namespace, "namespace", "n", "", "namespace (default: that of the context)")
	_ = c.RegisterFlagCompletionFunc("namespace", o.completeNamespaces)
	clusterFlags(c, &o.kubeconfig, &o.context)
}

// clusterFlags adds the flags that name a cluster.
func clusterFlags(c *cobra.Command, kubeconfig, context *string) {
	c.Flags().StringVar(kubeconfig, "kubeconfig", "", "kubeconfig file (default: $KUBECONFIG, then ~/.kube/config)")
	c.Flags().StringVar(context, "context", "", "context of the kubeconfig (default: its current one)")
	_ = c.RegisterFlagCompletionFunc("context", completeContexts(kubeconfig))
}

// open returns a client for Orcon's kinds, and the namespace of the command.
func (o *clusterOptions) open() (client.Client, string, error) {
	config, namespace, err := o.load()
	if err != nil {
		return nil, "", err
	}
	scheme := runtime.NewScheme()
	err = errors.Join(v1alpha1.AddToScheme(scheme), bundlev1alpha1.AddToScheme(scheme), fleetv1alpha1.AddToScheme(scheme),
		jobv1alpha1.AddToScheme(scheme), authenticationv1.AddToScheme(scheme))
	kinds, failed := client.New(config, client.Options{Scheme: scheme})
	if err := errors.Join(err, failed); err != nil {
		return nil, "", fmt.Errorf("cannot reach the cluster: %w", err)
	}
	return kinds, namespace, nil
}

// load returns the configuration of a client, and the namespace of the command.
func (o *clusterOptions) load() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	rules.WarnIfAllMissing = false
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.context}
	overrides.Context.Namespace = o.namespace
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, "", o.noCluster(loaded, rules, err)
	}
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("cannot find the namespace: %w", err)
	}
	config.QPS = -1 // the API server's own fairness limits us
	config.Timeout = requestTimeout
	config.Dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	return config, namespace, nil
}

// sameCluster returns the flags by which kubectl and orcon work on the cluster that the user has named; "" for the
// current one.
func sameCluster(kubeconfig, context string) string {
	flags := ""
	if kubeconfig != "" {
		flags += " --kubeconfig " + shellWord(kubeconfig)
	}
	if context != "" {
		flags += " --context " + shellWord(context)
	}
	return flags
}

// noCluster explains why a kubeconfig leads to no cluster, and what helps.
func (o *clusterOptions) noCluster(loaded clientcmd.ClientConfig, rules *clientcmd.ClientConfigLoadingRules, err error) error {
	files := strings.Join(rules.GetLoadingPrecedence(), ", ")
	if o.kubeconfig != "" {
		files = o.kubeconfig
		if _, missing := os.Stat(files); errors.Is(missing, fs.ErrNotExist) {
			return fmt.Errorf("cannot read kubeconfig %s: no such file: correct --kubeconfig", files)
		}
	}
	raw, unread := loaded.RawConfig()
	if unread != nil {
		return fmt.Errorf("cannot read the kubeconfig: %w: correct the file, or name another with --kubeconfig FILE", unread)
	}
	contexts := strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", ")
	_, known := raw.Contexts[o.context]
	switch {
	case contexts == "" && (o.context != "" || clientcmd.IsEmptyConfig(err)):
		return fmt.Errorf("cannot find a cluster: no kubeconfig in %s: set $KUBECONFIG, or use --kubeconfig FILE", files)
	case o.context != "" && !known:
		return fmt.Errorf("cannot find context %q in %s: the contexts are %s", o.context, files, contexts)
	case o.context == "" && raw.CurrentContext == "" && contexts != "":
		return fmt.Errorf("cannot find a cluster: %s has no current context: use --context with one of %s", files, contexts)
	}
	if clientcmd.IsEmptyConfig(err) {
		err = errors.New("its context has no cluster with a server")
	}
	return fmt.Errorf("cannot use kubeconfig %s: %w: correct it, or choose another context with --context (%s)", files, err, contexts)
}
