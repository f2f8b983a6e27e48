package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// completionTimeout is how long a shell waits for names.
const completionTimeout = 3 * time.Second

// complete completes the name of an object of one of Orcon's kinds in the namespace.
func (o *clusterOptions) complete(kind string) cobra.CompletionFunc {
	return argument(func(ctx context.Context) []cobra.Completion {
		return o.names(ctx, v1alpha1.GroupVersion.WithKind(kind))
	})
}

// completeInstalled completes the name of a bundle that orcon install made in the namespace.
func (o *clusterOptions) completeInstalled() cobra.CompletionFunc {
	return argument(func(ctx context.Context) []cobra.Completion {
		all := o.names(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, client.MatchingFields{"type": cluster.RecordType})
		for i, name := range all {
			all[i] = strings.TrimPrefix(name, "orcon-bundle-")
		}
		return all
	})
}

// argument completes the first argument of a command.
func argument(names func(context.Context) []cobra.Completion) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return soon(func() []cobra.Completion { return names(c.Context()) }), cobra.ShellCompDirectiveNoFileComp
	}
}

// soon returns what look finds, and nothing where that takes longer than a shell waits.
func soon(look func() []cobra.Completion) []cobra.Completion {
	found := make(chan []cobra.Completion, 1)
	go func() { found <- look() }()
	select {
	case all := <-found:
		return all
	case <-time.After(completionTimeout):
		return nil
	}
}

// completeNamespaces completes the name of a namespace of the cluster.
func (o *clusterOptions) completeNamespaces(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return soon(func() []cobra.Completion {
		return o.names(c.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, client.InNamespace(""))
	}), cobra.ShellCompDirectiveNoFileComp
}

// names lists the names of the objects of a kind, by default in the namespace. A cluster that does
// not answer has none.
func (o *clusterOptions) names(ctx context.Context, kind schema.GroupVersionKind, options ...client.ListOption) []cobra.Completion {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	kinds, namespace, err := o.open()
	if err != nil || kinds.List(ctx, all, append([]client.ListOption{client.InNamespace(namespace)}, options...)...) != nil {
		return nil
	}
	var names []cobra.Completion
	for i := range all.Items {
		names = append(names, all.Items[i].Name)
	}
	return names
}

// completeContexts completes the name of a context of a kubeconfig.
func completeContexts(kubeconfig *string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = *kubeconfig
		config, err := rules.Load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
	}
}
