package object

import (
	"context"
	"time"

	"github.com/golang/glog"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// listAgain is the pause after a list of a cache has failed.
const listAgain = time.Second

// List lists from a cache for a handler of its events, again after each failure, since nothing
// repeats the event. It fails when ctx ends.
func List(ctx context.Context, cache client.Reader, into client.ObjectList, opts ...client.ListOption) error {
	return wait.PollUntilContextCancel(ctx, listAgain, true, func(ctx context.Context) (bool, error) {
		err := cache.List(ctx, into, append(opts, client.UnsafeDisableDeepCopy)...)
		if err != nil {
			glog.Warningf("cannot list %T, trying again: %v", into, err)
		}
		return err == nil, nil
	})
}

// Pointers returns pointers to the items of a list.
func Pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}
