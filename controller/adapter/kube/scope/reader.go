package scope

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
)

// Reader returns a reader of the caches. It fails with object.ErrIncomplete where they may lack what is read.
func (s *Scope) Reader(cached client.Reader) client.Reader { return complete{cached, s} }

// complete reads from caches only what they have whole.
type complete struct {
	client.Reader

	scope *Scope
}

// Get implements client.Reader.
func (c complete) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	return c.whole(into, key.Namespace, func() error { return c.Reader.Get(ctx, key, into, opts...) })
}

// List implements client.Reader. Kinds that any namespace has can be listed in one namespace.
func (c complete) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	return c.whole(into, o.Namespace, func() error { return c.Reader.List(ctx, into, opts...) })
}

// whole reads, and fails if the cache may have lacked objects of the namespace meanwhile.
func (c complete) whole(of runtime.Object, namespace string, read func() error) error {
	if !c.scope.bounds[kindOf(of)] {
		return read()
	}
	c.scope.mu.Lock()
	f := c.scope.filters[kindOf(of)]
	c.scope.mu.Unlock()
	if before, has := f.has(namespace); has {
		err := read()
		if after, still := f.has(namespace); still && after == before {
			return err
		}
	}
	return fmt.Errorf("cannot read %s in %s: %w", kindOf(of), namespace, object.ErrIncomplete)
}
