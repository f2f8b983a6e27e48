package object_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// recovering is a reader whose first lists fail.
type recovering struct {
	client.Reader

	fails int
}

func (r *recovering) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if r.fails--; r.fails >= 0 {
		return errors.New("no connection")
	}
	return r.Reader.List(ctx, into, opts...)
}

// A failed list is tried again: nothing repeats the event that asked for it.
func TestList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := kubetest.Memory{}
		m.Put(object.Named(&v1alpha1.Offer{}, "shop", "all"))
		var list v1alpha1.OfferList
		began := time.Now()
		require.NoError(t, object.List(t.Context(), &recovering{m, 2}, &list, client.InNamespace("shop")))
		assert.Len(t, list.Items, 1)
		assert.Equal(t, 2*time.Second, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		require.ErrorIs(t, object.List(ctx, &recovering{m, 100}, &list), context.DeadlineExceeded)
	})
}
