package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// completionTimeout is how long a shell waits for names.
const completionTimeout = 3 * time.Second

// completeDeployments completes the name of a BundleDeployment of the namespace.
func (o *clusterOptions) completeDeployments(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all v1alpha1.BundleDeploymentList
	return o.complete(c, args, &all, func() (names []cobra.Completion) {
		for i := range all.Items {
			names = append(names, all.Items[i].Name)
		}
		return names
	})
}

// completeNames completes the name of a deployment that was installed in the namespace.
func (o *clusterOptions) completeNames(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	all := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	return o.complete(c, args, all, func() (names []cobra.Completion) {
		for i := range all.Items {
			names = append(names, strings.TrimPrefix(all.Items[i].Name, "orcon-bundle-"))
		}
		return names
	}, client.MatchingFields{"type": cluster.RecordType})
}

// complete lists objects of the namespace and returns their names. A cluster that does not answer
// completes nothing.
func (o *clusterOptions) complete(c *cobra.Command, args []string, all client.ObjectList, names func() []cobra.Completion,
	options ...client.ListOption) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
	defer cancel()
	kinds, namespace, err := o.open()
	if err != nil || kinds.List(ctx, all, append(options, client.InNamespace(namespace))...) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names(), cobra.ShellCompDirectiveNoFileComp
}

// installedIn returns the namespaces in which a deployment of that name is installed, as far as
// the user may list Secrets of all namespaces.
func (o *clusterOptions) installedIn(ctx context.Context, name string) []string {
	kinds, _, err := o.open()
	all := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	if err != nil || kinds.List(ctx, all, client.MatchingFields{"type": cluster.RecordType, "metadata.name": "orcon-bundle-" + name}) != nil {
		return nil
	}
	var namespaces []string
	for i := range all.Items {
		namespaces = append(namespaces, all.Items[i].Namespace)
	}
	return namespaces
}
