package integration

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Of two Relations for a pair the other takes over when the first is deleted, or nothing declares it any more: with its
// identity, id, data and sides, and no unit learns of an end (TRUST.md A11).
func TestHeirTakesOver(t *testing.T) {
	t.Run("Deleted", func(t *testing.T) {
		w := newControllerWorld(t)
		w.inherits("", func(_ client.Object, first *v1alpha1.Relation) { require.NoError(t, w.admin.Delete(w.ctx, first)) })
	})
	t.Run("Undeclared", func(t *testing.T) {
		w := newControllerWorld(t)
		w.inherits("pg", func(web client.Object, _ *v1alpha1.Relation) {
			w.change(web, func() { delete(web.(*appsv1.Deployment).Spec.Template.Annotations, application.KeyRelations) })
		})
	})
}

// inherits relates web and pg, calls goes, which has that relation go, and proves that a second Relation of the pair takes
// over. The relation is made by hand unless declared names the provider with which web declares it.
func (w *controllerWorld) inherits(declared string, goes func(web client.Object, first *v1alpha1.Relation)) {
	t, c := w.t, w.controller(-1)
	consumes := map[string]string{application.KeyConsumes: "store:pg", application.KeyHandlers: "/handlers", application.KeyRetain: "5s"}
	second := w.manual("web", "pg")
	second.Name, second.Spec.Requirer.Endpoint, second.Spec.Provider.Endpoint, second.Spec.Interface = "second", "store", "main", "pg"
	if declared != "" {
		consumes[application.KeyRelations] = declared
	} else {
		first := second.DeepCopy()
		first.Name = "first"
		w.create(first)
	}
	consumer := w.consumer("web", consumes)
	w.create(w.consumer("pg", map[string]string{application.KeyProvides: "main:pg", application.KeyHandlers: "/handlers"}), consumer)
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
	var all v1alpha1.RelationList
	require.NoError(t, w.admin.List(w.ctx, &all, client.InNamespace(w.namespace)))
	require.Len(t, all.Items, 2)
	first := all.Items[slices.IndexFunc(all.Items, func(r v1alpha1.Relation) bool { return r.Name != second.Name })]

	goes(consumer, first.DeepCopy())
	w.eventually("the first is gone", func() bool {
		return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(&first), first.DeepCopy()))
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
