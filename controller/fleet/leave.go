package fleet

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	bundle "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
)

// leave lets the members of a deleted set go on as BundleDeployments of their own.
func (l *look) leave(ctx context.Context) error {
	if !controllerutil.ContainsFinalizer(l.set, v1alpha1.Finalizer) {
		return nil
	}
	var all bundle.BundleDeploymentList
	if err := l.Client.List(ctx, &all, client.InNamespace(l.set.Namespace), client.MatchingLabels{v1alpha1.SetLabel: l.set.Name}); err != nil {
		return fmt.Errorf("cannot list members: %w", err)
	}
	for i := range all.Items {
		m := &all.Items[i]
		before := m.DeepCopy()
		delete(m.Labels, v1alpha1.SetLabel)
		if err := client.IgnoreNotFound(l.Client.Patch(ctx, m, client.MergeFrom(before))); err != nil {
			return fmt.Errorf("cannot let member %s go on by itself: %w", m.Name, err)
		}
	}
	controllerutil.RemoveFinalizer(l.set, v1alpha1.Finalizer)
	if err := client.IgnoreNotFound(l.Client.Patch(ctx, l.set, client.MergeFrom(l.said))); err != nil {
		return fmt.Errorf("cannot remove the finalizer: %w", err)
	}
	return nil
}
