package settle_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/settle/settletest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A deleted Relation ends only if its definition provably stays (TRUST.md T1).
func TestDeletionOfTheDefinition(t *testing.T) {
	now := metav1.NewTime(kubetest.Epoch())
	tests := map[string]struct {
		why        string
		definition func(n *settletest.Namespaces)
		ends       bool
	}{
		"Stays": {why: "a person deleted the Relation", definition: func(*settletest.Namespaces) {}, ends: true},
		"Deleted": {why: "its definition is being deleted, and all Relations with it", definition: func(n *settletest.Namespaces) {
			settletest.Change(n, "", settletest.Definition, func(d *metav1.PartialObjectMetadata) { d.DeletionTimestamp = &now })
		}},
		"Gone": {why: "nothing proves that it stays", definition: func(n *settletest.Namespaces) {
			delete(n.Server.Kept, reflect.TypeFor[*metav1.PartialObjectMetadata]())
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := settletest.New(t)
			settletest.Change(n, "shop", n.RelationOf("shop").Name, func(r *v1alpha1.Relation) { r.DeletionTimestamp = &now })
			test.definition(n)
			ends := slices.ContainsFunc(n.Decide("shop"), func(d relation.Decision) bool { _, is := d.(relation.Release); return is })
			assert.Equal(t, test.ends, ends, test.why)
		})
	}
}

// While it is unknown whether the definition stays, nothing is decided.
func TestUnknownDefinition(t *testing.T) {
	n := settletest.New(t)
	now := metav1.NewTime(kubetest.Epoch())
	settletest.Change(n, "shop", n.RelationOf("shop").Name, func(r *v1alpha1.Relation) { r.DeletionTimestamp = &now })
	n.Settler.Live = kubetest.Failing{Reader: n.Server, Kind: reflect.TypeFor[*metav1.PartialObjectMetadata]()}
	_, err := n.Settler.Observe(t.Context(), "shop")
	require.ErrorContains(t, err, "cannot find out whether deleted relations end")
}
