package settle_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/settle/settletest"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// touches reports whether a decision changes or removes an object, or makes one in its place.
func touches(d relation.Decision, name string) bool {
	switch d := d.(type) {
	case relation.Publish:
		return d.Name() == name
	case relation.Remember:
		return d.Name == name
	case relation.Relate:
		return d.Name() == name
	case relation.Update:
		return d.Name == name
	case relation.Finish:
		return d.Name == name
	case relation.Release:
		return d.Name == name
	case relation.Withdraw:
		return d.Name() == name
	case relation.Discard:
		return d.Name() == name
	case relation.Forget:
		return d.Name == name
	default:
		return false
	}
}

// An object that cannot be read is not ended, withdrawn, forgotten, renumbered or replaced, and its namespace goes
// on.
func TestUnreadableIsUnknown(t *testing.T) {
	bag := relation.DatabagName("db", "db")
	tests := map[string]struct {
		why, namespace string
		spoil          func(*settletest.Namespaces)
		// name is the object's, where it is of the namespace.
		name func(*settletest.Namespaces) string
	}{
		"Record": {
			why: "a record that is made anew numbers its units anew", namespace: "shop",
			spoil: func(n *settletest.Namespaces) { settletest.Change(n, "shop", "blog", settletest.NoRevision) }, name: func(*settletest.Namespaces) string { return "blog" },
		},
		"Relation": {
			why: "a second relation of the pair would be another", namespace: "shop",
			spoil: func(n *settletest.Namespaces) {
				settletest.Change(n, "shop", n.RelationOf("shop").Name, settletest.NoUnit)
			},
			name: func(n *settletest.Namespaces) string { return n.RelationOf("shop").Name },
		},
		"Databag": {
			why: "what stands in it may be what was said", namespace: "shop",
			spoil: func(n *settletest.Namespaces) { settletest.Change(n, "shop", bag, settletest.Elsewhere) }, name: func(*settletest.Namespaces) string { return bag },
		},
		"RecordElsewhere": {
			why: "M7: what another namespace spoils is not this one's fault", namespace: "office",
			spoil: func(n *settletest.Namespaces) { settletest.Change(n, "shop", "db", settletest.NoRevision) },
			name:  func(n *settletest.Namespaces) string { return n.RelationOf("office").Name },
		},
		"DatabagElsewhere": {
			why: "M7: the relation has the data that it had", namespace: "office",
			spoil: func(n *settletest.Namespaces) {
				settletest.Change(n, "shop", bag, settletest.Elsewhere)
				settletest.Change(n, "shop", n.BagToOffice(), settletest.Elsewhere)
			},
			name: func(n *settletest.Namespaces) string { return n.RelationOf("office").Name },
		},
		"Consumer": {
			why: "M7: what was said for it is not withdrawn", namespace: "shop",
			spoil: func(n *settletest.Namespaces) {
				settletest.Change(n, "office", n.RelationOf("office").Name, settletest.NoUnit)
			},
			name: (*settletest.Namespaces).BagToOffice,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := settletest.New(t)
			said := kubetest.DeclaredBag("shop", "db", map[string]string{"user": "office"})
			r := n.RelationOf("office")
			said.Name, said.Spec.Relation, said.Spec.Home = n.BagToOffice(), string(r.UID), &v1alpha1.RelationHome{Namespace: "office", Name: r.Name}
			n.Server.Kept.Put(said)
			n.Settle("shop")
			test.spoil(n)
			n.Server.Kept.Put(settletest.Provider(test.namespace, "another"))
			goesOn := false
			for _, d := range n.Decide(test.namespace) {
				assert.False(t, touches(d, test.name(n)), "%s: %T", test.why, d)
				publish, is := d.(relation.Publish)
				goesOn = goesOn || is && publish.Application == "another"
			}
			assert.True(t, goesOn, "the namespace goes on")
		})
	}
}

// While a Relation without an id is unreadable no id is given, since it may have the next.
func TestUnreadableRelationHoldsIDs(t *testing.T) {
	n := settletest.New(t)
	settletest.Change(n, "shop", n.RelationOf("shop").Name, func(r *v1alpha1.Relation) { r.State.ID = -1 })
	n.Server.Kept.Put(settletest.Consumer("shop", "wiki", "db"))
	for _, d := range n.Decide("shop") {
		_, relates := d.(relation.Relate)
		assert.False(t, relates)
	}
}

// A Secret that cannot be read stops nothing, and revokes no grant.
func TestUnreadableSecretStopsNothing(t *testing.T) {
	n := settletest.New(t)
	n.Settler.Live = kubetest.Failing{Reader: n.Server, Kind: reflect.TypeFor[*corev1.Secret]()}
	s := settletest.Provider("shop", "vault")
	s.Annotations[application.PrefixSecret+"db"] = "credentials"
	n.Server.Kept.Put(s)
	_, err := n.Settler.Observe(t.Context(), "shop")
	require.NoError(t, err)
}

// An unreadable object shows why by its conditions, and all else of it stays as it is; when it can
// be read again, its namespace goes on with what it remembers.
func TestMarkAndMend(t *testing.T) {
	shop := func(o client.Object, name string) client.Object { return object.Named(o, "shop", name) }
	tests := map[string]struct {
		object      func(*settletest.Namespaces) client.Object
		spoil, mend func(*settletest.Namespaces, string)
	}{
		"Relation": {
			object: func(n *settletest.Namespaces) client.Object {
				return shop(&v1alpha1.Relation{}, n.RelationOf("shop").Name)
			},
			spoil: func(n *settletest.Namespaces, name string) { settletest.Change(n, "shop", name, settletest.NoUnit) },
			mend: func(n *settletest.Namespaces, name string) {
				settletest.Change(n, "shop", name, func(r *v1alpha1.Relation) { r.Status.Departures = nil })
			},
		},
		"Record": {
			object: func(*settletest.Namespaces) client.Object {
				return shop(&v1alpha1.RelatedApplication{}, "blog")
			},
			spoil: func(n *settletest.Namespaces, name string) { settletest.Change(n, "shop", name, settletest.NoRevision) },
			mend: func(n *settletest.Namespaces, name string) {
				settletest.Change(n, "shop", name, func(a *v1alpha1.RelatedApplication) { a.State.Grants = nil })
			},
		},
		"Databag": {
			object: func(*settletest.Namespaces) client.Object {
				return shop(&v1alpha1.Databag{}, relation.DatabagName("db", "db"))
			},
			spoil: func(n *settletest.Namespaces, name string) { settletest.Change(n, "shop", name, settletest.Elsewhere) },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := settletest.New(t)
			o := test.object(n)
			read := func() client.Object {
				stored := o.DeepCopyObject().(client.Object)
				require.NoError(t, n.Server.Get(t.Context(), client.ObjectKeyFromObject(o), stored))
				return stored
			}
			healthy := read()
			test.spoil(n, o.GetName())
			spoilt := read()
			spoilt.SetGeneration(3)
			n.Server.Keep(spoilt)
			n.Settle("shop")
			marked := read()
			assert.NotEqual(t, spoilt, marked)
			why := conditionsOf(marked)
			assert.Equal(t, relation.ReasonUnreadable, why[0].Reason)
			assert.Contains(t, why[2].Message, "kubectl -n shop get ")
			_, observed := statusIn(marked)
			assert.EqualValues(t, 3, *observed, "SAFETY.md C1")
			silence(spoilt)
			silence(marked)
			assert.Equal(t, spoilt, marked, "nothing else of it is written")
			if test.mend == nil {
				require.NoError(t, n.Server.Delete(t.Context(), read(), object.Unchanged(read())))
			} else {
				test.mend(n, o.GetName())
			}
			n.Restart()
			n.Settle("shop")
			mended := read()
			assert.Equal(t, reasonOf(healthy), reasonOf(mended))
			assert.Equal(t, 1, int(n.RelationOf("shop").State.ID))
		})
	}
}

// reasonOf returns the reason of Ready; none for a databag that can be read.
func reasonOf(o client.Object) string {
	why, _ := value.Why(conditionsOf(o))
	return why.Reason
}

func conditionsOf(o client.Object) []metav1.Condition {
	conditions, _ := statusIn(o)
	return *conditions
}

// statusIn returns what a mark writes.
func statusIn(o client.Object) (conditions *[]metav1.Condition, observedGeneration *int64) {
	switch o := o.(type) {
	case *v1alpha1.Relation:
		return &o.Status.Conditions, &o.Status.ObservedGeneration
	case *v1alpha1.RelatedApplication:
		return &o.Status.Conditions, &o.Status.ObservedGeneration
	case *v1alpha1.Databag:
		return &o.Status.Conditions, &o.Status.ObservedGeneration
	}
	return nil, nil
}

// silence removes what a mark writes.
func silence(o client.Object) {
	conditions, observed := statusIn(o)
	*conditions, *observed = nil, 0
	o.SetResourceVersion("")
}

// An object that became unreadable after the decision is not written over.
func TestApplyWritesOverNothingUnreadable(t *testing.T) {
	bag := relation.Databag{Application: "db", Endpoint: "db"}
	n := settletest.New(t)
	r, err := convert.ToRelation(n.RelationOf("shop"))
	require.NoError(t, err)
	s, err := n.Settler.Observe(t.Context(), "shop")
	require.NoError(t, err)
	settletest.Change(n, "shop", r.Name, settletest.NoUnit)
	settletest.Change(n, "shop", "blog", settletest.NoRevision)
	settletest.Change(n, "shop", bag.Name(), settletest.Elsewhere)
	writes := n.Server.Writes
	for _, d := range []relation.Decision{
		relation.Publish{Databag: bag}, relation.Remember{Record: s.Records[0]}, relation.Update{Relation: r},
		relation.Relate{Pair: relation.Pair{Key: r.Key, Interface: "db"}},
	} {
		require.Error(t, n.Settler.Apply(t.Context(), "shop", d), "%T", d)
	}
	assert.Equal(t, writes, n.Server.Writes)
}

// Outboxes are no bags; one that cannot be read is unknown.
func TestOutboxesOfASnapshot(t *testing.T) {
	held := &v1alpha1.Transaction{ID: "t", Changes: []v1alpha1.Change{{Relation: "r", RelationUID: "u", Endpoint: "db", Values: map[string]string{"a": "b"}}}}
	tests := map[string]struct {
		why         string
		name        string
		spec        v1alpha1.DatabagSpec
		transaction *v1alpha1.Transaction
		outbox      []relation.Outbox
		unreadable  bool
	}{
		"Empty":       {why: "it was delivered", name: relation.OutboxName("db", "0"), spec: convert.ForOutbox("db", "0"), outbox: []relation.Outbox{{Application: "db", Unit: "0"}}},
		"Idle":        {why: "nothing is to be delivered", name: relation.OutboxName("db", "0"), spec: convert.ForOutbox("db", "0"), transaction: &v1alpha1.Transaction{ID: "t"}, outbox: []relation.Outbox{{Application: "db", Unit: "0"}}},
		"Holding":     {why: "it is to be delivered", name: relation.OutboxName("db", "0"), spec: convert.ForOutbox("db", "0"), transaction: held, outbox: []relation.Outbox{{Application: "db", Unit: "0", Holds: true}}},
		"Misnamed":    {why: "another may be the unit's", name: "copy", spec: convert.ForOutbox("db", "0"), transaction: held, unreadable: true},
		"Purposeless": {why: "it may be a bag", name: relation.OutboxName("db", "0"), spec: v1alpha1.DatabagSpec{Application: "db", Unit: "0"}, transaction: held, unreadable: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := settletest.New(t)
			before, err := n.Settler.Observe(t.Context(), "shop")
			require.NoError(t, err)
			b := object.Named(&v1alpha1.Databag{}, "shop", test.name)
			b.Spec, b.State.Transaction = test.spec, test.transaction
			n.Server.Keep(b)
			s, err := n.Settler.Observe(t.Context(), "shop")
			require.NoError(t, err)
			assert.Len(t, s.Databags, len(before.Databags), test.why)
			assert.Equal(t, test.outbox, s.Outboxes, test.why)
			assert.Equal(t, test.unreadable, len(s.Unreadable) == 1, test.why)
		})
	}
}
