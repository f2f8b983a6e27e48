package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// address gives a pod an address; empty takes the pod away.
func (w *world) address(pod, address string) {
	p := w.pods[pod]
	p.Address = address
	if w.pods[pod] = p; address == "" {
		delete(w.pods, pod)
	}
}

// unit changes what the first unit of an application that lives says.
func (w *world) unit(name string, change func(*application.Unit)) {
	r := w.records[name]
	r.State.Units = append([]application.Unit(nil), r.State.Units...)
	for i := range r.State.Units {
		if r.State.Units[i].Gone == "" {
			change(&r.State.Units[i])
			break
		}
	}
	w.records[name] = r
}

// side changes what a side says of a relation.
func (w *world) side(r relation.Relation, change func(*relation.State)) {
	k := w.relations[r.Name]
	change(&k.State)
	w.relations[r.Name] = k
}

func (w *world) failing(name string, f status.Failure) {
	w.unit(name, func(u *application.Unit) { u.Failing = f })
}

func found(cs []condition.Condition, t condition.Type) condition.Condition {
	c, _ := condition.Find(cs, t)
	return c
}

// A relation's status is Juju's word for it, through its life (RELATIONS.md L3, L1).
func TestRelationStatus(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.consumes("web", "store:pg", "db")
	w.settle(t)
	assert.Equal(t, relation.Joining, w.only(t).State.Status, "the web shop has no unit yet")
	w.pod(application.Deployment, "web", "web-0")
	w.settle(t)
	assert.Equal(t, relation.Joined, w.only(t).State.Status, "the database needs no agent")

	t.Log("units come and go, and it stays joined")
	delete(w.pods, "web-0")
	w.pod(application.Deployment, "db", "db-0")
	w.settle(t)
	assert.Equal(t, relation.Joined, w.only(t).State.Status)

	t.Log("a handler fails, and then does not")
	r := w.only(t)
	failure := status.Failure{Event: "main-relation-changed (web)", Relation: r.UID, Attempts: 1, Since: w.now, Said: "exit code 4: no room"}
	w.failing("db", failure)
	w.settle(t)
	assert.Equal(t, relation.Failed, w.only(t).State.Status)
	w.address("db-0", "10.0.0.2")
	w.failing("db", status.Failure{})
	w.settle(t)
	assert.Equal(t, relation.Joined, w.only(t).State.Status)

	t.Log("what is held is as it was; what ends is broken")
	w.consumes("web", "store:pg", "")
	w.settle(t)
	assert.Equal(t, relation.Joined, w.only(t).State.Status, "SAFETY.md L5")
	w.remove(r.Name, r.UID)
	w.settle(t)
	assert.Equal(t, relation.Broken, w.only(t).State.Status)
}

// Whatever happens, an ended relation is broken and a living one is not; and what is
// settled stays so (RELATIONS.md L3).
func TestRelationStatusFollowsLife(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
		w.consumes("web", "store:pg", "db")
		w.settle(t)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			pod := rapid.SampledFrom([]string{"db", "web"}).Draw(t, "of")
			for _, r := range values(w.relations) {
				switch rapid.IntRange(0, 5).Draw(t, "what") {
				case 0:
					w.pod(application.Deployment, pod, pod+"-0")
				case 1:
					if _, there := w.pods[pod+"-0"]; there {
						w.address(pod+"-0", "10.0.0.1")
					}
				case 2:
					delete(w.pods, pod+"-0")
				case 3:
					w.failing(pod, status.Failure{Event: "e", Relation: r.UID, Attempts: 1, Since: w.now})
				case 4:
					w.failing(pod, status.Failure{})
				case 5:
					w.remove(r.Name, r.UID)
				}
			}
			w.later(t, time.Second)
			for _, r := range values(w.relations) {
				assert.Equal(t, !r.Alive(), r.State.Status == relation.Broken)
				_, failing := condition.Find(r.State.Conditions, condition.HandlerFailed)
				assert.True(t, !r.Alive() || failing == (r.State.Status == relation.Failed), "%s", r.State.Status)
			}
		}
	})
}

// A handler that fails is told of the application and of the relation concerned,
// with the unit, the event, since when, what it said and the cure; of a hundred that
// fail alike the first in full; and no more when it has succeeded or its pod has gone
// (RELATIONS.md L3).
func TestFailingHandlersAreTold(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.external("cache", "main:redis")
	w.consumes("web", "store:pg,cache:redis", "db,cache")
	for _, pod := range []string{"web-a", "web-b", "web-c"} {
		w.pod(application.Deployment, "web", pod)
		w.settle(t)
	}
	store, cache := w.between(t, "web:store-db:main"), w.between(t, "web:cache-cache:main")
	failure := status.Failure{Event: "store-relation-changed (db)", Relation: store.UID, Attempts: 1, Since: w.now, Said: "exit code 4: no room"}
	w.failing("web", failure)
	w.settle(t)
	const told = "web/0 has failed to handle store-relation-changed (db) since 2026-01-02T03:04:05Z: exit code 4: no room; it is retried, see kubectl -n shop logs web-a --all-containers"
	want := condition.Condition{Type: condition.HandlerFailed, True: true, Reason: "HandlerFailed", Message: told}
	assert.Equal(t, want, w.says("web", condition.HandlerFailed))
	assert.Equal(t, want, found(w.between(t, "web:store-db:main").State.Conditions, condition.HandlerFailed))
	assert.Empty(t, found(w.between(t, "web:cache-cache:main").State.Conditions, condition.HandlerFailed), "of the other relation nothing is told")
	broken := w.between(t, "web:store-db:main")
	assert.Equal(t, condition.Condition{Type: condition.Ready, Reason: "HandlerFailed", Message: "a handler fails: " + told}, ready(broken))
	assert.True(t, broken.Complete(), "that the data is there is another matter (SAFETY.md V5)")
	assert.Equal(t, "HandlerFailed", w.says("web", condition.Ready).Reason)
	assert.False(t, w.says("web", condition.Ready).True)
	assert.Empty(t, w.records["web"].State.Waiting, "its gate does not wait")

	t.Log("the others fail too, at something else")
	r := w.records["web"]
	for i := range r.State.Units[1:] {
		r.State.Units[1+i].Failing = status.Failure{Event: "cache-relation-joined (cache/0)", Relation: cache.UID, Attempts: 1, Since: w.now}
	}
	w.settle(t)
	assert.Equal(t, told+"; handlers of other units fail too: see status.units[].failing of their RelatedApplication", w.says("web", condition.HandlerFailed).Message)
	assert.Contains(t, found(w.between(t, "web:cache-cache:main").State.Conditions, condition.HandlerFailed).Message, "web/1 has failed to handle cache-relation-joined (cache/0) since 2026-01-02T03:04:05Z: it wrote nothing;")

	t.Log("the first succeeds, the others go")
	w.failing("web", status.Failure{})
	w.settle(t)
	assert.Empty(t, found(w.between(t, "web:store-db:main").State.Conditions, condition.HandlerFailed))
	delete(w.pods, "web-b")
	delete(w.pods, "web-c")
	w.settle(t)
	assert.Empty(t, w.says("web", condition.HandlerFailed), "nobody calls them again")
	require.NotEmpty(t, w.records["web"].State.Units[1].Gone)
	assert.Empty(t, w.records["web"].State.Units[1].Failing)
}

// What the sides say of a relation is on it, with code, message and resolution, and
// whoever waits for data reads why there is none; that something is said does not
// make it ready (RELATIONS.md L3, SAFETY.md V5).
func TestSidesSay(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg"})
	w.consumes("web", "store:pg", "db")
	w.settle(t)
	assert.Empty(t, found(w.only(t).State.Conditions, condition.ProviderStatus), "who says nothing has no status")
	blocked := status.Info{State: status.Blocked, Message: "no database of that name", Code: "NoDatabase", Resolution: "ask for one of: a, b", Since: w.now}
	w.side(w.only(t), func(s *relation.State) {
		s.ProviderStatus, s.RequirerStatus = blocked, status.Info{State: status.Active, Since: w.now}
	})
	w.settle(t)
	cs := w.only(t).State.Conditions
	assert.Equal(t, condition.Condition{Type: condition.ProviderStatus, Reason: "NoDatabase", Message: "no database of that name; ask for one of: a, b"}, found(cs, condition.ProviderStatus))
	assert.Equal(t, condition.Condition{Type: condition.RequirerStatus, True: true, Reason: "Active", Message: "active"}, found(cs, condition.RequirerStatus))
	assert.Equal(t, "db:main has not provided data yet; its status: no database of that name; ask for one of: a, b", ready(w.only(t)).Message)
	assert.Contains(t, w.says("web", condition.Ready).Message, "no database of that name")
}

// How an application is, its leader says, or the unit that needs most care; it does
// not change whether it is ready.
func TestApplicationsSay(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db")
	w.pod(application.Deployment, "web", "web-0")
	w.settle(t)
	assert.Empty(t, w.says("web", condition.ApplicationStatus), "nobody says anything")
	w.unit("web", func(u *application.Unit) {
		u.Workload = status.Info{State: status.Maintenance, Message: "migrating", Since: w.now}
	})
	w.settle(t)
	assert.Equal(t, condition.Condition{Type: condition.ApplicationStatus, Reason: "Maintenance", Message: "migrating"}, w.says("web", condition.ApplicationStatus))
	r := w.records["web"]
	r.State.Workload = status.Info{State: status.Active, Message: "serving", Since: w.now}
	w.records["web"] = r
	w.settle(t)
	assert.Equal(t, condition.Condition{Type: condition.ApplicationStatus, True: true, Reason: "Active", Message: "serving"}, w.says("web", condition.ApplicationStatus))
	assert.True(t, w.says("web", condition.Ready).True)
}
