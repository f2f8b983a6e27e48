package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// A departure is owed to the handlers at the other end until they have answered, over
// the end of the controller, and what the unit said can be read so long (SAFETY.md E15,
// P2, RELATIONS.md P2).
func TestControllerOwesDepartures(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(
		w.consumer("db", map[string]string{application.KeyProvides: "main:pg", application.KeyHandlers: "/handlers"}),
		w.consumer("web", consumes("store:pg", "db")))
	web, db := w.speaker(c, "web", "10.9.0.1"), w.speaker(c, "db", "10.9.0.2")
	joined := func(s *wire.Snapshot) bool {
		return len(s.GetRelations()) == 1 && len(s.GetRelations()[0].GetUnits()) == 1
	}
	hears(t, web.stream, "the database", joined)
	uid := hears(t, db.stream, "the shop", joined).GetRelations()[0].GetUid()
	require.NoError(t, web.commit(w.ctx, 0, change(uid, false, "version", "9")))

	require.NoError(t, w.admin.Delete(w.ctx, web.pod, client.GracePeriodSeconds(0)))
	departed := func(s *wire.Snapshot) bool {
		return len(s.GetRelations()) == 1 && len(s.GetRelations()[0].GetDeparted()) == 1
	}
	left := hears(t, db.stream, "the departure", departed).GetRelations()[0].GetDeparted()[0]
	assert.Equal(t, "replaced", left.GetReason())
	assert.Equal(t, []int64{0}, left.GetOwed())
	assert.Equal(t, map[string]string{"version": "9", "ingress-address": "10.9.0.1", "private-address": "10.9.0.1", "egress-subnets": "10.9.0.1/32"}, left.GetBag().GetData())

	t.Log("another controller goes on")
	c.stop()
	c = w.controller(-1)
	db.turnTo(t, c)
	db.stream = w.agent(c, db.token)
	again := hears(t, db.stream, "the departure again", departed).GetRelations()[0].GetDeparted()[0]
	assert.Equal(t, []int64{0}, again.GetOwed())

	answer := &wire.LeaveRequest{Relation: uid, Departures: []*wire.Departure{{Number: left.GetNumber(), Since: left.GetSince(), Handled: true}}}
	_, err := db.api.Leave(w.ctx, asking(db, answer))
	require.NoError(t, err)
	hears(t, db.stream, "that it is owed to nobody any more", func(s *wire.Snapshot) bool {
		return departed(s) && len(s.GetRelations()[0].GetDeparted()[0].GetOwed()) == 0 && !s.GetRelations()[0].GetDeparted()[0].GetInherited()
	})
	w.eventually("it is remembered for an hour more", func() bool {
		all := w.relations()["db"].Status.Departures
		return len(all) == 1 && all[0].State == v1alpha1.DepartureHandled && all[0].CompletionTime != nil
	})
	before := w.versions()
	_, err = db.api.Leave(w.ctx, asking(db, answer))
	require.NoError(t, err)
	w.marker("quiet")
	assert.Subset(t, w.versions(), before, "an answer that is given twice writes nothing")
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
	require.NoError(t, w.admin.Delete(w.ctx, db.pod, client.GracePeriodSeconds(0)))
}

// A Deployment is deleted, and its pod serves on until it is gone: only then it departs (TRUST.md T11).
func TestServingPodHasNotDeparted(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	db := w.consumer("db", map[string]string{application.KeyProvides: "main:pg"})
	db.Annotations = map[string]string{application.PrefixData + "main": "{port: '5432'}"}
	w.create(db, w.consumer("web", consumes("store:pg,sse", "db,sse-endpoint")))
	web, provider := w.speaker(c, "web", "10.9.0.1"), w.speaker(c, "db", "10.9.0.2")
	units := func(s *wire.Snapshot, n int) bool {
		return len(s.GetRelations()) > 0 && len(s.GetRelations()[0].GetUnits()) == n
	}
	hears(t, web.stream, "the database", func(s *wire.Snapshot) bool { return units(s, 1) })
	w.change(provider.pod, func() { provider.pod.Finalizers = []string{"example.org/serves"} })

	require.NoError(t, w.admin.Delete(w.ctx, db, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	w.eventually("the pod ends", func() bool {
		var sets appsv1.ReplicaSetList
		require.NoError(t, w.admin.List(w.ctx, &sets, client.InNamespace(w.namespace), client.MatchingLabels{"app": "db"}))
		return len(sets.Items) == 0 && w.podOf("db").DeletionTimestamp != nil
	})
	w.create(w.provider("sse-endpoint", "sse.tengu.io"))
	hears(t, web.stream, "something later", func(s *wire.Snapshot) bool {
		assert.True(t, units(s, 1), "the unit is still there")
		return len(s.GetRelations()) == 2
	})
	w.change(provider.pod, func() { provider.pod.Finalizers = nil })
	hears(t, web.stream, "the departure", func(s *wire.Snapshot) bool {
		departed := s.GetRelations()[0].GetDeparted()
		return units(s, 0) && len(departed) == 1 && departed[0].GetReason() == "application-removed"
	})
}
