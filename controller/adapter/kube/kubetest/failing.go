package kubetest

import (
	"context"
	"errors"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Failing is a reader that cannot read objects, or lists, of one type.
type Failing struct {
	client.Reader

	// Kind is the type.
	Kind reflect.Type
}

// List implements client.Reader.
func (f Failing) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if reflect.TypeOf(into) == f.Kind {
		return errors.New("the cache is not there")
	}
	return f.Reader.List(ctx, into, opts...)
}

// Get implements client.Reader.
func (f Failing) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if reflect.TypeOf(into) == f.Kind {
		return apierrors.NewInternalError(errors.New("the key that encrypts it is lost"))
	}
	return f.Reader.Get(ctx, key, into, opts...)
}
