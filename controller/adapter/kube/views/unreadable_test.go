package views

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/settle/settletest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A view that needs an unreadable object is not made: it would lack units, data or relations.
func TestViewOfTheUnreadable(t *testing.T) {
	unit := []v1alpha1.Unit{{Number: 0, PodUID: "p", Address: "10.0.0.1"}}
	tests := map[string]struct {
		why   string
		spoil func(*settletest.Namespaces)
	}{
		"Record": {why: "its units have not departed", spoil: func(n *settletest.Namespaces) { settletest.Change(n, "shop", "db", settletest.NoNumber) }},
		"Relation": {why: "it has not ended", spoil: func(n *settletest.Namespaces) {
			settletest.Change(n, "shop", n.RelationOf("shop").Name, settletest.NoUnit)
		}},
		"OwnDatabag": {why: "its data is not gone", spoil: func(n *settletest.Namespaces) {
			settletest.Change(n, "shop", relation.DatabagName("db", "db"), settletest.Elsewhere)
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := settletest.New(t)
			settletest.Change(n, "shop", "db", func(a *v1alpha1.RelatedApplication) { a.State.Units = unit })
			views := &Views{Reader: n.Server}
			view, err := views.View(t.Context(), "shop", "blog")
			require.NoError(t, err)
			require.Len(t, view.Relations, 1)
			require.Len(t, view.Relations[0].Shown.Units, 1)
			test.spoil(n)
			view, err = views.View(t.Context(), "shop", "blog")
			require.Error(t, err, "%s: %+v", test.why, view.Relations)
		})
	}
}

// A view is not made while the cache fails.
func TestViewOfAFailingCache(t *testing.T) {
	for _, kind := range []reflect.Type{
		reflect.TypeFor[*v1alpha1.OfferList](), reflect.TypeFor[*v1alpha1.Databag](), reflect.TypeFor[*v1alpha1.RelatedApplication](),
	} {
		t.Run(kind.String(), func(t *testing.T) {
			n := settletest.New(t)
			view, err := (&Views{Reader: n.Server}).View(t.Context(), "office", "blog")
			require.NoError(t, err)
			require.True(t, view.Relations[0].Open())
			view, err = (&Views{Reader: kubetest.Failing{Reader: n.Server, Kind: kind}}).View(t.Context(), "office", "blog")
			require.Error(t, err, "%+v", view.Relations)
		})
	}
}

// hiccup is a reader whose first list fails.
type hiccup struct {
	client.Reader

	failed *bool
}

func (h hiccup) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if !*h.failed {
		*h.failed = true
		return errors.New("the cache is not there")
	}
	return h.Reader.List(ctx, into, opts...)
}

// A change is published to the other ends of relations although they could not be listed at once.
func TestChangesSurviveAFailedList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := settletest.New(t)
		var changed []string
		views := Views{Reader: hiccup{n.Server, new(bool)}, Changed: func(namespace, application string) {
			changed = append(changed, namespace+"/"+application)
		}}
		views.changes().bagChanged(t.Context(), kubetest.DeclaredBag("shop", "db", nil))
		assert.Equal(t, []string{"shop/db", "office/blog", "shop/blog"}, changed)
	})
}
