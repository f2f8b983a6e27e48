package negotiation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// state is what a relation can be in at once, as far as its columns show it.
type state struct {
	data, unit, fails, optedOut, held, over, limit, gone, ends bool
}

// world returns a namespace whose relation web:store-db:main is in the state.
func (s state) world(t require.TestingT) *world {
	w := newWorld()
	provides := map[string]string{application.KeyProvides: "main:pg"}
	if s.data {
		provides["data.tengu.io/main"] = "host: db"
	}
	w.external("a", "main:pg")
	w.deployment("db", provides)
	consumes, relations := "store:pg", "a,db"
	if !s.over && !s.limit {
		relations = "db"
	}
	w.consumes("web", consumes, relations)
	if s.unit {
		w.pod(application.Deployment, "web", "web-0")
	}
	w.pod(application.Deployment, "db", "db-0")
	w.settle(t)
	r := w.between(t, "web:store-db:main")
	if s.over {
		consumes += "!1"
	}
	if s.limit { // it is held, another has its place, and it is declared again
		w.consumes("web", consumes, "a")
		w.settle(t)
		consumes = "store:pg!1"
	}
	if s.held {
		relations = "a"
	}
	more := []string(nil)
	if s.optedOut {
		more = []string{application.KeyInject, "false"}
	}
	w.consumes("web", consumes, relations, more...)
	if s.fails {
		w.failing("db", status.Failure{Event: "main-relation-changed (web)", Relation: r.UID, Attempts: 1, Since: w.now})
	}
	if s.gone {
		delete(w.workloads, "Deployment/db")
		delete(w.pods, "db-0")
	}
	w.settle(t)
	if s.ends {
		w.unit("db", func(u *application.Unit) { u.Handles = true }) // which keeps it from ending at once
		w.remove(r.Name, r.UID)
	}
	w.later(t, time.Second)
	return w
}

// columns returns STATUS, READY, WHY and HELD as kubectl shows them.
func columns(r relation.Relation) string {
	held := ""
	if r.Held() {
		held = " held"
	}
	ready := found(r.State.Conditions, condition.Ready)
	return fmt.Sprintf("%s %t %s%s", r.State.Status, ready.True, ready.Reason, held)
}

// The columns of a relation in the states that people meet.
func TestColumns(t *testing.T) {
	tests := map[string]struct {
		why   string
		state state
		want  string
	}{
		"Works":         {"all is there", state{data: true, unit: true}, "joined true Complete"},
		"NoUnit":        {"nobody uses it yet", state{data: true}, "joining true NoUnit"},
		"NoData":        {"both are there", state{unit: true}, "joined false NoData"},
		"Nothing":       {"neither a unit nor data", state{}, "joining false NoData"},
		"Fails":         {"READY is never true beside error", state{data: true, unit: true, fails: true}, "error false HandlerFailed"},
		"FailsAtFirst":  {"why there is no data", state{unit: true, fails: true}, "error false HandlerFailed"},
		"OptedOut":      {"not joining for ever", state{data: true, optedOut: true}, "error false OptedOut"},
		"OptedOutFails": {"what a person must mend first", state{data: true, optedOut: true, fails: true}, "error false OptedOut"},
		"Held":          {"it works, but nothing declares it", state{data: true, unit: true, held: true}, "joined true DeclarationGone held"},
		"HeldFails":     {"held or not", state{data: true, unit: true, held: true, fails: true}, "error false HandlerFailed held"},
		"OverLimit":     {"M8: it goes on, and is not Complete", state{data: true, unit: true, over: true}, "joined true OverLimit"},
		"LimitReached":  {"M3: another has its place", state{data: true, unit: true, limit: true}, "joined true LimitReached held"},
		"Gone":          {"its provider is gone", state{data: true, unit: true, gone: true}, "joining false ProviderGone held"},
		"Ends":          {"it has ended", state{data: true, unit: true, ends: true}, "broken false Ending"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := test.state.world(t)
			assert.Equal(t, test.want, columns(w.between(t, "web:store-db:main")), test.why)
		})
	}
}

// Whatever comes together, no column contradicts another, and each reason is explained.
func TestColumnsNeverContradict(t *testing.T) {
	for bits := range 1 << 9 {
		on := func(i int) bool { return bits&(1<<i) != 0 }
		s := state{on(0), on(1), on(2), on(3), on(4), on(5), on(6), on(7), on(8)}
		for _, r := range values(s.world(t).relations) {
			checkColumns(t, fmt.Sprintf("%+v: %s", s, columns(r.Relation)), r.Relation)
		}
	}
}

// A relation that an Offer opened and that is withdrawn is suspended whatever else comes
// together, no column contradicts another, and its application waits for a person too.
func TestColumnsOfSuspendedNeverContradict(t *testing.T) {
	for bits := range 1 << 6 {
		on := func(i int) bool { return bits&(1<<i) != 0 }
		w, r := borrower(t)
		if on(0) { // and its handlers have yet to handle that
			w.unit("web", func(u *application.Unit) { u.Handles = true })
		}
		if on(1) {
			w.failing("web", status.Failure{Event: "store-relation-changed (vault.bank)", Relation: r.UID, Attempts: 1, Since: w.now})
		}
		declares, more := "vault.bank", []string(nil)
		if on(2) {
			declares = ""
		}
		if on(3) {
			more = []string{application.KeyInject, "false"}
		}
		w.consumes("web", "store:pg", declares, more...)
		w.abroad = offering()
		w.settle(t)
		if on(4) {
			w.remove(r.Name, r.UID)
		}
		if on(5) {
			w.abroad = offering(offer("main", namespace))
		}
		w.later(t, time.Second)
		for _, r := range values(w.relations) {
			text := fmt.Sprintf("%06b: %s", bits, columns(r.Relation))
			checkColumns(t, text, r.Relation)
			suspended := r.State.Status == relation.Suspended || r.State.Status == relation.Suspending
			assert.Equal(t, r.Alive() && !on(5), suspended, text)
			assert.Equal(t, suspended, ready(r.Relation).Reason == relation.ReasonSuspended, text)
			assert.True(t, !suspended || found(w.records["web"].State.Conditions, condition.Stalled).True, "one cause has one state: %s", text)
		}
	}
}

func checkColumns(t *testing.T, text string, r relation.Relation) {
	t.Helper()
	ready, why := ready(r).True, ready(r).Reason
	one := 0
	for _, c := range r.State.Conditions {
		if c.True && (c.Type == condition.Ready || c.Type == condition.Reconciling || c.Type == condition.Stalled) {
			one++
		}
	}
	assert.Equal(t, 1, one, "exactly one of Ready, Reconciling and Stalled is true: %s", text)
	assert.True(t, !ready || r.State.Status == relation.Joined || r.State.Status == relation.Joining, text)
	assert.Equal(t, r.State.Status == relation.Broken, why == relation.ReasonEnding, text)
	person := found(r.State.Conditions, condition.Stalled).True || why == string(condition.HandlerFailed)
	suspended := r.State.Status == relation.Suspended || r.State.Status == relation.Suspending
	assert.Equal(t, r.State.Status == relation.Failed || suspended, person, text)
	assert.Equal(t, r.Held() && r.Alive(), found(r.State.Conditions, condition.Held).True, text)
	if why == relation.ReasonComplete {
		assert.True(t, ready && !r.Held() && r.State.Status == relation.Joined, "Complete stands alone: %s", text)
	}
	for _, c := range r.State.Conditions {
		if c.Type != condition.RequirerStatus && c.Type != condition.ProviderStatus {
			_, explained := condition.Explain(c.Type, c.Reason)
			assert.True(t, explained, "%s %s has a meaning", c.Type, c.Reason)
		}
	}
}
