package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// sides returns what the namespace keeps of relations, by role.
func (w *controllerWorld) sides() map[string]v1alpha1.RelationSide {
	var list v1alpha1.RelationSideList
	require.NoError(w.t, w.admin.List(w.ctx, &list, client.InNamespace(w.namespace)))
	all := map[string]v1alpha1.RelationSide{}
	for _, s := range list.Items {
		all[s.Spec.Role] = s
	}
	return all
}

// An end comes while the provider has no unit and the controller is away: the first unit that comes later is told, with
// an empty memory too. What is owed keeps neither the Relation nor its name; the next relation waits (TRUST.md T2).
func TestEndIsOwedToUnitsThatComeLater(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	provider := w.consumer("db", map[string]string{application.KeyProvides: "main:pg", application.KeyHandlers: "/handlers"})
	w.create(provider, w.consumer("web", consumes("store:pg", "db")))
	web, db := w.speaker(c, "web", "10.9.2.1"), w.speaker(c, "db", "10.9.2.2")
	related := func(s *wire.Snapshot) bool { return one(s) != nil && len(one(s).GetUnits()) == 1 }
	hears(t, web.stream, "the database", related)
	before := one(hears(t, db.stream, "the shop", related))
	require.NoError(t, db.commit(w.ctx, w.leads(db), change(before.GetUid(), true, "user", "shop")))

	t.Log("the provider is scaled to none, the controller goes away, and the relation ends")
	_, err := db.api.Lead(w.ctx, asking(db, &wire.LeadRequest{Resign: true}))
	require.NoError(t, err)
	w.change(provider, func() { provider.Spec.Replicas = new(int32) })
	w.eventually("no unit is left", func() bool {
		return len(w.app("db").State.Units) == 1 && w.app("db").State.Units[0].DepartureReason != ""
	})
	c.stop()
	ended := w.relations()["db"]
	require.NoError(t, w.admin.Delete(w.ctx, &ended))
	w.ahead.Add(int64(time.Hour))
	c = w.controller(-1)
	web.stream = w.agent(c, web.token)
	hears(t, web.stream, "the end, although its agent was deaf for an hour", func(s *wire.Snapshot) bool { return one(s) != nil && one(s).GetEnded() })
	w.ahead.Add(int64(time.Minute))
	w.eventually("the Relation is gone", func() bool { return len(w.relations()) == 0 })
	w.eventually("the next one waits", func() bool {
		return len(w.app("web").Status.Waits) == 1 && w.app("web").Status.Waits[0].Reason == relation.ReasonEndOwed
	})
	w.eventually("its application shows it", func() bool { return w.app("db").Status.EndsOwed == 1 })
	assert.Contains(t, w.cluster.Kubectl(t, "-n", w.namespace, "get", "rapp", "db"), "ENDS OWED")
	side := w.sides()[v1alpha1.RoleProvider]
	assert.Equal(t, before.GetUid(), side.Spec.Relation)
	assert.Empty(t, side.State.End.State)
	assert.NotEmpty(t, w.bagsOf(before.GetUid()), "the handlers may need what they said")

	t.Log("a unit comes that knows nothing")
	w.change(provider, func() { *provider.Spec.Replicas = 1 })
	db = w.speaker(c, "db", "10.9.2.3")
	hears(t, db.stream, "its number", func(s *wire.Snapshot) bool { return s.GetUnit().GetKnown() })
	w.leads(db)
	owed := one(hears(t, db.stream, "the end", func(s *wire.Snapshot) bool { return one(s) != nil && one(s).GetEndInherited() }))
	assert.True(t, owed.GetEnded())
	require.Len(t, owed.GetDeparted(), 1, "the unit that was there departs first")
	assert.EqualValues(t, 0, owed.GetDeparted()[0].GetNumber())
	assert.Equal(t, "relation-removed", owed.GetDeparted()[0].GetReason())
	assert.Equal(t, before.GetId(), owed.GetId())
	assert.Equal(t, before.GetUid(), owed.GetUid())
	assert.Equal(t, "web", owed.GetRemoteApplication())
	_, err = db.api.Leave(w.ctx, asking(db, &wire.LeaveRequest{Relation: before.GetUid()}))
	require.NoError(t, err)
	assert.Empty(t, w.sides()[v1alpha1.RoleProvider].State.End.State, "a unit that has handled nothing pays nothing")
	_, err = db.api.Leave(w.ctx, asking(db, &wire.LeaveRequest{Relation: before.GetUid(), Handled: true}))
	require.NoError(t, err)
	next := one(hears(t, db.stream, "the next relation", func(s *wire.Snapshot) bool { return one(s) != nil && !one(s).GetEnded() }))
	assert.Greater(t, next.GetId(), before.GetId())
	assert.NotEqual(t, before.GetUid(), next.GetUid())
	w.eventually("its bags are gone", func() bool { return len(w.bagsOf(before.GetUid())) == 0 })
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
}

// Two tenants relate to one provider. Each relation has an id of its own in the provider's namespace, which stays when
// the tenants' ids are alike (TRUST.md T3).
func TestIDsAreUniqueWhereTheyAreHeard(t *testing.T) {
	bank := newControllerWorld(t)
	c := bank.controller(-1)
	shop, office := bank.another(), bank.another()
	vault := bank.consumer("vault", map[string]string{application.KeyProvides: "main:pg", application.KeyHandlers: "/handlers"})
	bank.create(vault, bank.offer(shop.namespace, office.namespace))
	for _, tenant := range []*controllerWorld{shop, office} {
		tenant.create(tenant.consumer("web", consumes("store:pg", "vault."+bank.namespace)))
	}
	heard := hears(t, bank.speaker(c, "vault", "10.9.3.1").stream, "both", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 2 })
	var ids []int64
	for _, r := range heard.GetRelations() {
		ids = append(ids, r.GetId())
	}
	assert.ElementsMatch(t, []int64{1, 2}, ids)
	for _, tenant := range []*controllerWorld{shop, office} {
		assert.EqualValues(t, 1, tenant.relations()["vault"].State.ID, "to a tenant it is the first")
	}

	t.Log("a tenant's namespace is deleted")
	gone := shop.relations()["vault"].State.Identity
	require.NoError(t, shop.admin.Delete(shop.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop.namespace}}))
	bank.eventually("the bank keeps the end", func() bool {
		for _, s := range bank.sidesOf(gone) {
			return s.State.End != nil
		}
		return false
	})
	shop.eventually("and holds nothing", func() bool { return len(shop.relations()) == 0 })
}

// sidesOf returns what the namespace keeps of one relation.
func (w *controllerWorld) sidesOf(identity string) []v1alpha1.RelationSide {
	var list v1alpha1.RelationSideList
	require.NoError(w.t, w.admin.List(w.ctx, &list, client.InNamespace(w.namespace), client.MatchingLabels{v1alpha1.LabelRelation: identity}))
	return list.Items
}
