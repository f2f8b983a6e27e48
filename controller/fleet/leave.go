package fleet

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
)

// leave lets the members of a deleted set go on as BundleDeployments of their own, or as those of a set that claims them,
// and returns when to look again.
func (l *look) leave(ctx context.Context) (time.Duration, error) {
	if !controllerutil.ContainsFinalizer(l.set, v1alpha1.Finalizer) {
		return 0, nil
	}
	members := membersOf(l.set, l.Client)
	all, err := members.list(ctx)
	if err != nil {
		return 0, err
	}
	left := 0
	for i := range all {
		parted, err := members.part(ctx, &all[i])
		if err != nil {
			return 0, fmt.Errorf("cannot let member %s go on by itself: %w", all[i].Name, err)
		}
		if parted {
			left++
		}
	}
	if left > 0 {
		return soon, nil
	}
	controllerutil.RemoveFinalizer(l.set, v1alpha1.Finalizer)
	if err := client.IgnoreNotFound(l.Client.Patch(ctx, l.set, client.MergeFrom(l.said))); err != nil {
		return 0, fmt.Errorf("cannot remove the finalizer: %w", err)
	}
	return 0, nil
}
