package main

import (
	"context"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// change edits an object that was read, and stores it. Orcon writes to such objects all the time: after a conflict the
// object is read and edited again. An error of edit ends it, with nothing stored.
func change[T any, P interface {
	*T
	client.Object
}](ctx context.Context, kinds client.Client, o P, edit func() error) error {
	turns := 0
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if turns++; turns > 1 {
			fresh := P(new(T))
			if err := kinds.Get(ctx, client.ObjectKeyFromObject(o), fresh); err != nil {
				return err
			}
			*o = *fresh
		}
		before, _ := o.DeepCopyObject().(client.Object)
		if err := edit(); err != nil {
			return err
		}
		return kinds.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
}
