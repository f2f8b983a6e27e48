package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	db.turnTo(c)
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
