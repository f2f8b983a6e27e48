package object

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// WriteBag creates a databag that was read as absent, or updates one in the revision in which it was read. What
// is written anew has no status: a mark as unreadable or refused is removed first.
func WriteBag(ctx context.Context, c client.Client, b *v1alpha1.Databag) error {
	if b.ResourceVersion == "" {
		return c.Create(ctx, b)
	}
	if len(b.Status.Conditions) > 0 {
		readable := b.DeepCopy()
		readable.Status = v1alpha1.DatabagStatus{}
		if err := c.Status().Update(ctx, readable); err != nil {
			return err
		}
		b.ResourceVersion, b.Status = readable.ResourceVersion, readable.Status
	}
	return c.Update(ctx, b)
}
