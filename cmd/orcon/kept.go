package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
)

// change returns the deployment of a name, to change it.
func (o *deploymentOptions) change(c *cobra.Command, name string) (*deployed, error) {
	if err := named(name); err != nil {
		return nil, err
	}
	if err := o.ours(c.Context(), name); err != nil {
		return nil, err
	}
	o.writes = true
	return o.connect(c, name)
}

// ours returns an error if a BundleDeployment of the cluster keeps the deployment: what a
// command did to it would be put right.
func (o *clusterOptions) ours(ctx context.Context, name string) error {
	kinds, namespace, err := o.open()
	if err != nil {
		return err
	}
	err = kinds.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &v1alpha1.BundleDeployment{})
	switch {
	case err == nil:
		return fmt.Errorf("cannot change %s/%s: BundleDeployment %[2]s manages it: change or delete that object instead", namespace, name)
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), meta.IsNoMatchError(err):
		return nil // there is none, or nobody has installed the kind
	}
	return fmt.Errorf("cannot find out whether a BundleDeployment manages %s/%s: %w", namespace, name, err)
}
