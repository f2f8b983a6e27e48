package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// A person deletes every Relation of a database by mistake. At most five ends reach its handlers; the others wait for
// a person, who keeps them, and their relations go on as the same (TRUST.md T4).
func TestMassEndsWaitForAPerson(t *testing.T) {
	const tenants = 9
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(w.consumer("db", map[string]string{application.KeyProvides: "main:pg", application.KeyHandlers: "/handlers"}))
	for i := range tenants {
		web := w.consumer(fmt.Sprintf("web-%d", i), consumes("store:pg", "db"))
		web.Spec.Replicas = new(int32)
		w.create(web)
	}
	db := w.speaker(c, "db", "10.9.6.1")
	before := map[string]int64{}
	for _, r := range hears(t, db.stream, "each tenant", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == tenants }).GetRelations() {
		before[r.GetUid()] = r.GetId()
	}

	for _, r := range w.all() {
		require.NoError(t, w.admin.Delete(w.ctx, &r))
	}
	held := func() (all []v1alpha1.RelationSide, owed int) {
		var list v1alpha1.RelationSideList
		require.NoError(t, w.admin.List(w.ctx, &list, client.InNamespace(w.namespace)))
		for _, s := range list.Items {
			if s.State.End != nil && s.State.End.State == v1alpha1.EndHeld {
				all = append(all, s)
			} else if s.State.End != nil {
				owed++
			}
		}
		return all, owed
	}
	w.eventually("each end is noted, and the Relations are gone", func() bool {
		all, owed := held()
		return len(all)+owed == tenants && len(w.all()) == 0
	})
	all, owed := held()
	assert.LessOrEqual(t, owed, 5)
	w.eventually("the application names them", func() bool {
		return reason(w.app("db").Status.Conditions, string(condition.EndsHeld)) == string(condition.EndsHeld)
	})
	hears(t, db.stream, "no end that is held", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == owed })

	t.Log("who may view them sees them")
	person := w.orcon("mass-editor")
	text, code := person.run("ends")
	assert.Zero(t, code)
	assert.Contains(t, text, "Held: orcon ends confirm, or orcon ends keep")
	_, code = person.run("ends", "keep", "--all")
	assert.Equal(t, 2, code)
	editor := w.editor("mass-editor")
	t.Log("only the controller writes sides")
	for name, patch := range map[string]string{
		"State": `{"state":{"end":null}}`, "Spec": `{"spec":{"id":77}}`, "Labels": `{"metadata":{"labels":{"orcon.tengu.io/relation":"other"}}}`,
		"Choice": `{"metadata":{"annotations":{"orcon.tengu.io/end":"Perhaps"}}}`,
	} {
		err := editor.Patch(w.ctx, all[0].DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
		assert.True(t, apierrors.IsForbidden(err) || apierrors.IsInvalid(err), "%s: %v", name, err)
	}

	t.Log("who may edit them keeps them")
	_, code = person.run("ends", "keep")
	assert.Equal(t, 2, code, "which?")
	text, code = person.run("ends", "keep", "--all")
	require.Zero(t, code)
	assert.Contains(t, text, all[0].Name)
	w.eventually("they are declared still, and go on", func() bool {
		kept, _ := held()
		return len(kept) == 0 && len(w.all()) == len(all)
	})
	hears(t, db.stream, "them under their ids", func(s *wire.Snapshot) bool {
		alive := 0
		for _, r := range s.GetRelations() {
			if !r.GetEnded() && before[r.GetUid()] == r.GetId() {
				alive++
			}
		}
		return alive == len(all)
	})

	t.Log("what is owed is waived")
	_, code = person.run("ends", "waive", "--all")
	require.Zero(t, code)
	w.eventually("a new relation takes the place of each", func() bool {
		return len(w.all()) == tenants
	})
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
}

// all lists the Relations of the namespace.
func (w *controllerWorld) all() []v1alpha1.Relation {
	var list v1alpha1.RelationList
	require.NoError(w.t, w.admin.List(w.ctx, &list, client.InNamespace(w.namespace)))
	return list.Items
}
