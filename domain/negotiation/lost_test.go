package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// The pod of a lost node is there until a person removes it or the node. Its unit departs a minute after the pod's deadline, and
// no end waits for its handlers (TRUST.md T2, T11).
func TestUnitsOfALostNodeDepart(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.consumes("web", "store:pg", "db")
	w.handling(application.Deployment, "web", "web-0")
	w.handling(application.Deployment, "db", "db-0")
	w.settle(t)
	deadline := w.now.Add(30 * time.Second)
	w.change("db-0", func(p *application.Pod) { p.Ending, p.Deadline = true, deadline })
	w.handling(application.Deployment, "db", "db-1")
	wake := w.settle(t)
	assert.Empty(t, w.departures(t), "it may still serve")
	assert.Equal(t, deadline.Add(time.Minute), wake)

	w.now = deadline.Add(time.Minute)
	w.settle(t)
	assert.Equal(t, map[string][]conversation.Unit{"db/0": {{Application: "web"}}}, w.departures(t))
	r := w.only(t)
	w.remove(r.Name, r.UID)
	w.settle(t)
	assert.Equal(t, []conversation.Unit{{Application: "db", Number: 1}}, w.sides[r.SideName(application.Provider)].Teardown.Owed)
}
