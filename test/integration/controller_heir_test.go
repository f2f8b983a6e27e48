package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Of two Relations for a pair the younger takes over when the other is deleted: with its identity, id, data and sides, and
// no unit learns of an end (TRUST.md A11).
func TestHeirTakesOver(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(
		w.consumer("pg", map[string]string{application.KeyProvides: "main:pg", application.KeyHandlers: "/handlers"}),
		w.consumer("web", map[string]string{application.KeyConsumes: "store:pg", application.KeyHandlers: "/handlers"}),
	)
	first := w.manual("web", "pg")
	first.Name, first.Spec.Requirer.Endpoint, first.Spec.Provider.Endpoint, first.Spec.Interface = "first", "store", "main", "pg"
	second := first.DeepCopy()
	second.Name = "second"
	w.create(first)
	web, pg := w.speaker(c, "web", "10.9.7.1"), w.speaker(c, "pg", "10.9.7.2")
	related := func(s *wire.Snapshot) bool { return one(s) != nil && len(one(s).GetUnits()) == 1 }
	before := one(hears(t, web.stream, "the database", related))
	hears(t, pg.stream, "the shop", related)
	require.NoError(t, pg.commit(w.ctx, w.leads(pg), change(before.GetUid(), true, "user", "shop")))
	w.create(second)
	w.eventually("the second is refused", func() bool {
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(second), second))
		return reason(second.Status.Conditions, "Ready") == "!"+relation.ReasonRelated
	})
	require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(first), first))

	require.NoError(t, w.admin.Delete(w.ctx, first.DeepCopy()))
	w.eventually("the first is gone", func() bool {
		return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(first), first.DeepCopy()))
	})
	require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(second), second))
	assert.Equal(t, first.State, second.State, "its identity and id")
	for role, side := range w.sides() {
		assert.Nil(t, side.State.End, "the %s owes no end", role)
		assert.Equal(t, first.State.Identity, side.Spec.Relation)
	}
	require.NoError(t, pg.commit(w.ctx, w.leads(pg), change(before.GetUid(), true, "user", "shop2")))
	after := hears(t, web.stream, "what the provider writes afterwards", func(s *wire.Snapshot) bool {
		require.False(t, one(s) != nil && one(s).GetEnded(), "an end")
		return one(s) != nil && one(s).GetBag().GetData()["user"] == "shop2"
	})
	assert.Len(t, after.GetRelations(), 1)
	assert.Equal(t, before.GetId(), one(after).GetId())
	assert.Equal(t, before.GetUid(), one(after).GetUid())
}
