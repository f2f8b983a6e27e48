package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// leave lets the members of a deleted set go on as BundleDeployments of their own, or as those of a set that claims them,
// and returns when to look again.
func (l *look) leave(ctx context.Context) (time.Duration, error) {
	if !controllerutil.ContainsFinalizer(l.set, v1alpha1.Finalizer) {
		return 0, nil
	}
	if l.set.State.DeletionPolicy == v1alpha1.DeletionPolicyDelete {
		if l.set.Spec.Paused {
			l.result.Stop = paused()
			return l.Resync, l.publish(ctx)
		}
		left, err := l.clear(ctx)
		if left > 0 || err != nil {
			return soon, errors.Join(err, l.publish(ctx))
		}
	}
	members := membersOf(l.set, l.Client, l.Self)
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

// clear deletes the set's members as far as the guard allows, or gives them to a set that claims them, and returns how many
// are left.
func (l *look) clear(ctx context.Context) (left int, err error) {
	standing, err := membersOf(l.set, l.Client, l.Self).standing(ctx)
	if err != nil {
		return 0, err
	}
	s := integrationset.Situation{Guard: guard(l.set.Spec.Guard), Ending: true}
	for _, one := range standing {
		if one.Set == "" {
			s.Standing = append(s.Standing, one.Standing)
		}
	}
	if err := l.decide(ctx, s, targets(nil, standing)); err != nil || l.result.Stop != nil {
		return len(s.Standing), err
	}
	return len(s.Standing), l.write(ctx, nil, standing)
}
