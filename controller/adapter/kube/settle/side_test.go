package settle_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/settle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/settle/settletest"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A Relation was created by a write that had no answer, and the cache does not show it. The next decision, with another
// identity, gives it no side: sides of an identity that no Relation has would never go, and the Relation would never have
// its own (TRUST.md T0).
func TestNoSideOfAnotherIdentity(t *testing.T) {
	r, err := convert.ToRelation(kubetest.Related("shop", "blog", "shop", "db"))
	require.NoError(t, err)
	counted := object.Named(&v1alpha1.RelatedNamespace{}, "shop", v1alpha1.NamespaceRecord)
	counted.State.LastRelation = 8
	counted.SetResourceVersion("1")
	keep := func(identity string) error {
		made := convert.ForPair("shop", relation.Pair{Key: r.Key, Interface: "db"})
		made.State.Identity = "first"
		cache, live := kubetest.Memory{}, kubetest.Memory{}
		cache.Put(counted)
		live.Put(made)
		server := &kubetest.Strict{Kept: live}
		w := settle.Settler{Reader: cache, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch}
		err := w.Apply(t.Context(), "shop", relation.Keep{Side: relation.Side{
			Key: r.Key, Role: application.Provider, Relation: identity, ID: 8, Interface: "db",
		}})
		if err != nil {
			assert.Zero(t, server.Writes)
		}
		return err
	}
	require.Error(t, keep("second"), "it is decided again, with the Relation in sight")
	assert.NoError(t, keep("first"), "the side of the Relation that is there is kept")
}

// A provider's side that cannot be read may owe the end of its relation: nothing lets go of the Relation before the side
// can be read, or a person deletes it (TRUST.md T2). The Relation, the application and the side of the other namespace
// stay as they are, and show that.
func TestUnreadableSideMayOweTheEnd(t *testing.T) {
	for name, spoil := range map[string]func(*v1alpha1.RelationSide){
		"ID": func(s *v1alpha1.RelationSide) { s.Spec.ID = 1 << 40 },
		"Units": func(s *v1alpha1.RelationSide) {
			s.State.End = &v1alpha1.RelationSideEnd{Reason: "Deleted", PendingUnits: []string{"?"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := settletest.New(t)
			r, err := convert.ToRelation(n.RelationOf("shop"))
			require.NoError(t, err)
			side := convert.ForRelationSide(relation.Side{
				Key: r.Key, Role: application.Provider, Relation: r.UID, ID: r.State.ID, Interface: r.Interface, Known: true,
			})
			spoil(side)
			n.Server.Kept.Put(side)
			now := metav1.NewTime(kubetest.Epoch())
			settletest.Change(n, "shop", r.Name, func(r *v1alpha1.Relation) { r.DeletionTimestamp = &now })
			released := func() bool {
				return slices.ContainsFunc(n.Decide("shop"), func(d relation.Decision) bool { _, is := d.(relation.Release); return is })
			}
			require.False(t, released(), "its end would be lost")
			n.Settle("shop")
			stays := n.RelationOf("shop")
			assert.Equal(t, relation.ReasonUnreadable, meta.FindStatusCondition(stays.Status.Conditions, "Ready").Reason)
			stored := object.Named(&v1alpha1.RelationSide{}, "shop", side.Name)
			require.NoError(t, n.Server.Get(t.Context(), client.ObjectKeyFromObject(stored), stored))
			assert.Equal(t, side.Spec, stored.Spec)
			assert.Equal(t, side.State, stored.State)
			db := object.Named(&v1alpha1.RelatedApplication{}, "shop", "db")
			require.NoError(t, n.Server.Get(t.Context(), client.ObjectKeyFromObject(db), db))
			owed := meta.FindStatusCondition(db.Status.Conditions, "EndsOwed")
			require.NotNil(t, owed)
			assert.Contains(t, owed.Message, "kubectl -n shop get relationside "+side.Name+" -o yaml")

			require.NoError(t, n.Server.Delete(t.Context(), stored, object.Unchanged(stored)))
			assert.True(t, released(), "a person has given the end up")
		})
	}
}

// A side of another namespace that cannot be read is that namespace's to mend: nothing is decided about its relation in
// either (TRUST.md T2, SAFETY.md M7).
func TestUnreadableSideOfAnotherNamespace(t *testing.T) {
	n := settletest.New(t)
	r, err := convert.ToRelation(n.RelationOf("office"))
	require.NoError(t, err)
	name := r.SideName(application.Provider)
	settletest.Change(n, "shop", name, func(s *v1alpha1.RelationSide) { s.Spec.ID = 1 << 40 })
	now := metav1.NewTime(kubetest.Epoch())
	settletest.Change(n, "office", r.Name, func(r *v1alpha1.Relation) { r.DeletionTimestamp = &now })
	for range 2 {
		n.Settle("shop")
		n.Settle("office")
	}
	ready := meta.FindStatusCondition(n.RelationOf("office").Status.Conditions, "Ready")
	assert.Equal(t, relation.ReasonUnreadable, ready.Reason)
	assert.Equal(t, "RelationSide "+name+" of namespace shop cannot be read…", ready.Message, "what is wrong in it is the shop's")
}
