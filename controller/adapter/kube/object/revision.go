package object

import (
	"context"
	"fmt"
	"strconv"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Revision returns the resourceVersion of an object as a number. Since Kubernetes 1.35 resourceVersions
// can be compared.
func Revision(o client.Object) uint64 { return ParseRevision(o.GetResourceVersion()) }

// ParseRevision returns a resourceVersion as a number; 0 for one that is none.
func ParseRevision(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

// StoreOf returns the store of the informer of an object's kind.
func StoreOf(ctx context.Context, informers cache.Cache, o client.Object) (toolscache.Store, error) {
	informer, err := informers.GetInformer(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("cannot watch %T: %w", o, err)
	}
	shared, ok := informer.(toolscache.SharedInformer)
	if !ok {
		return nil, fmt.Errorf("cannot follow %T: its informer %T has no store", o, informer)
	}
	return shared.GetStore(), nil
}

// Unchanged returns the precondition that an object is the one that was read, in the same revision.
func Unchanged(o client.Object) client.Preconditions {
	uid, revision := o.GetUID(), o.GetResourceVersion()
	return client.Preconditions{UID: &uid, ResourceVersion: &revision}
}
