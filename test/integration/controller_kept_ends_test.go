package integration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Ends that are kept are taken back on both sides: where the requirers have handlers too, their relations go on as the
// same (TRUST.md T4).
func TestKeptEndsAreTakenBackOnBothSides(t *testing.T) {
	const tenants = 7
	w := newControllerWorld(t)
	w.controller(-1)
	provides := map[string]string{application.KeyProvides: "main:pg", application.KeyHandlers: "/handlers"}
	w.create(w.consumer("db", provides))
	for i := range tenants {
		declares := consumes("store:pg", "db")
		declares[application.KeyHandlers] = "/handlers"
		w.create(w.consumer(fmt.Sprintf("web-%d", i), declares))
	}
	sides := func(is func(v1alpha1.RelationSide) bool) (many int) {
		var list v1alpha1.RelationSideList
		require.NoError(t, w.admin.List(w.ctx, &list, client.InNamespace(w.namespace)))
		for _, s := range list.Items {
			if is(s) {
				many++
			}
		}
		return many
	}
	known := func(s v1alpha1.RelationSide) bool { return s.State.KnownTo == v1alpha1.AudienceHandlers }
	w.eventually("handlers of both sides know them", func() bool { return sides(known) == 2*tenants && len(w.all()) == tenants })

	for _, r := range w.all() {
		require.NoError(t, w.admin.Delete(w.ctx, &r))
	}
	held := func(role string) func(v1alpha1.RelationSide) bool {
		return func(s v1alpha1.RelationSide) bool {
			return s.Spec.Role == role && s.State.End != nil && s.State.End.State == v1alpha1.EndHeld
		}
	}
	w.eventually("the Relations are gone", func() bool { return len(w.all()) == 0 })
	many := sides(held(v1alpha1.RoleProvider))
	require.NotZero(t, many)
	w.eventually("requirers follow", func() bool { return sides(held(v1alpha1.RoleRequirer)) == many })

	w.editor("kept-editor")
	_, code := w.orcon("kept-editor").run("ends", "keep", "--all")
	require.Zero(t, code)
	w.eventually("no end is held, and the relations go on", func() bool {
		return sides(held(v1alpha1.RoleProvider)) == 0 && sides(held(v1alpha1.RoleRequirer)) == 0 && len(w.all()) >= many
	})
}

// Agents of applications without handlers keep the files of relations whose ends are held: they hear of no end, and the
// relations that a person keeps go on for them (TRUST.md T4).
func TestHeldEndsAreNotShownToAgents(t *testing.T) {
	const tenants = 7
	w := newControllerWorld(t)
	c := w.controller(-1)
	db := w.consumer("db", map[string]string{application.KeyProvides: "main:pg", application.KeyHandlers: "/handlers"})
	db.Annotations = map[string]string{application.PrefixData + "main": "host: one"}
	w.create(db)
	streams, uids := map[string]*agentStream{}, map[string]string{}
	for i := range tenants {
		name := fmt.Sprintf("web-%d", i)
		w.create(w.consumer(name, consumes("store:pg", "db")))
		streams[name] = w.speaker(c, name, fmt.Sprintf("10.9.7.%d", i+1)).stream
		uids[name] = one(hears(t, streams[name], "its relation", func(s *wire.Snapshot) bool { return one(s).GetComplete() })).GetUid()
	}
	w.eventually("handlers know them", func() bool {
		known := 0
		for _, uid := range uids {
			for _, s := range w.sidesOf(uid) {
				if s.State.KnownTo == v1alpha1.AudienceHandlers {
					known++
				}
			}
		}
		return known == tenants
	})
	for _, r := range w.all() {
		require.NoError(t, w.admin.Delete(w.ctx, &r))
	}
	w.eventually("the Relations are gone", func() bool { return len(w.all()) == 0 })
	w.editor("held-editor")
	_, code := w.orcon("held-editor").run("ends", "keep", "--all")
	require.Zero(t, code)
	w.eventually("those that were held go on", func() bool { return len(w.all()) > 0 })
	for _, r := range w.all() {
		name := r.Spec.Requirer.Application
		require.Equal(t, uids[name], r.State.Identity)
		hears(t, streams[name], "that it is gone and goes on, and no end", func(s *wire.Snapshot) bool {
			require.False(t, one(s).GetEnded(), name)
			return len(s.GetRelations()) == 0
		})
		hears(t, streams[name], "that it goes on", func(s *wire.Snapshot) bool {
			require.False(t, one(s).GetEnded(), name)
			return one(s).GetUid() == uids[name]
		})
	}
}
