package main

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// completeNamespaces completes the name of a namespace of the cluster.
func (o *clusterOptions) completeNamespaces(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
	defer cancel()
	all := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}}
	kinds, _, err := o.open()
	if err != nil || kinds.List(ctx, all) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for i := range all.Items {
		names = append(names, all.Items[i].Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeContexts completes the name of a context of the kubeconfig.
func (o *clusterOptions) completeContexts(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := rules.Load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

// completeRelations completes the name of a relation of the namespace.
func (o *clusterOptions) completeRelations(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all v1alpha1.RelationList
	return o.complete(c, args, &all, func() (names []cobra.Completion) {
		for i := range all.Items {
			names = append(names, all.Items[i].Name)
		}
		return names
	})
}
