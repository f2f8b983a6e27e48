package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// clusterOptions say which cluster and namespace, as kubectl's flags do.
type clusterOptions struct{ kubeconfig, context, namespace string }

func (o *clusterOptions) flags(c *cobra.Command) {
	c.Flags().StringVarP(&o.namespace, "namespace", "n", "", "the namespace (default: the context's)")
	c.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "the file that names clusters (default: $KUBECONFIG, then ~/.kube/config)")
	c.Flags().StringVar(&o.context, "context", "", "the context of that file (default: its current one)")
}

// open returns what reads and writes Orcon's kinds, and the namespace that is meant.
func (o *clusterOptions) open() (client.Client, string, error) {
	config, namespace, err := o.load()
	if err != nil {
		return nil, "", err
	}
	scheme := runtime.NewScheme()
	err = errors.Join(v1alpha1.AddToScheme(scheme), authenticationv1.AddToScheme(scheme))
	kinds, failed := client.New(config, client.Options{Scheme: scheme})
	if err := errors.Join(err, failed); err != nil {
		return nil, "", fmt.Errorf("cannot reach the cluster: %w", err)
	}
	return kinds, namespace, nil
}

// load returns how to reach the cluster, and the namespace that is meant.
func (o *clusterOptions) load() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.context}
	overrides.Context.Namespace = o.namespace
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loaded.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, "", fmt.Errorf("cannot tell which cluster: none is named in %s: name a file that does in $KUBECONFIG, or by --kubeconfig FILE",
			strings.Join(rules.GetLoadingPrecedence(), ", "))
	case err != nil:
		return nil, "", fmt.Errorf("cannot tell which cluster: %w", err)
	}
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("cannot tell which namespace: %w", err)
	}
	config.QPS = -1 // the API server's own fairness limits us
	return config, namespace, nil
}
