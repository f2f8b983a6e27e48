package conversation_test

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// agent is the process that tells one unit: what it remembers, what it has saved,
// and the snapshot that it looks at. Beside it stands what its handlers heard,
// kept by other means, which judges each event.
type agent struct {
	unit   conversation.Unit
	memory conversation.Memory
	disk   []byte
	// used is the highest revision that it has acted on, which outlives it
	// (SAFETY.md V4).
	used  int
	shown conversation.Snapshot
	// heard is what the handlers know, and knew when the memory was saved.
	heard, kept heard
	// acted are the ends that were handled while the unit led and saved so, of all agents.
	acted map[string]bool
	// repeated is the event that was handled when the process died.
	repeated *conversation.Event
	// parsed is what is on the disk.
	parsed *conversation.Memory
}

// heard is what the handlers of a unit know from events alone, with the whole
// bags that they were shown.
type heard struct {
	leader    bool
	term      int64
	relations map[string]heardOf
}

type heardOf struct {
	open, over bool
	// closed says that it was broken and may come back.
	closed bool
	// acted says that it was broken for good while the unit led.
	acted       bool
	members     map[conversation.Unit]conversation.Bag
	pending     *conversation.Unit
	application conversation.Bag
	// left are the units that have departed, at least those that the unit must remember.
	left []conversation.Unit
}

func newAgent(u conversation.Unit, acted map[string]bool) *agent {
	a := &agent{unit: u, acted: acted}
	a.forget()
	return a
}

// forget starts the process with an empty memory.
func (a *agent) forget() {
	a.disk, a.parsed, a.kept = []byte("{}"), nil, heard{relations: map[string]heardOf{}}
	a.restart()
}

// restart starts the process again, from what it saved.
func (a *agent) restart() {
	a.memory, a.shown = a.saved(), conversation.Snapshot{Unit: a.unit}
	a.heard = heard{a.kept.leader, a.kept.term, maps.Clone(a.kept.relations)}
}

// saved is what is on the disk.
func (a *agent) saved() conversation.Memory {
	if a.parsed == nil {
		m, err := conversation.ParseMemory(a.disk)
		if err != nil {
			panic(err)
		}
		a.parsed = &m
	}
	return *a.parsed
}

func (a *agent) save(t require.TestingT) {
	disk, err := json.Marshal(a.memory)
	require.NoError(t, err)
	a.disk, a.parsed = disk, nil
	a.kept = heard{a.heard.leader, a.heard.term, maps.Clone(a.heard.relations)}
}

// deliver shows the agent a snapshot, unless it has acted on a newer one.
func (a *agent) deliver(revision int, s conversation.Snapshot) {
	if revision < a.used {
		return
	}
	a.used, a.shown, a.repeated = revision, s, nil
	a.memory = a.memory.Observe(s)
	a.heard.leader = a.heard.leader && s.Leader
	for uid, of := range a.heard.relations {
		i := slices.IndexFunc(s.Relations, func(r conversation.Relation) bool { return r.UID == uid })
		if i < 0 {
			of.acted = false // what is over and not mentioned is forgotten
		} else if own(&s, &s.Relations[i]) {
			of.application = s.Bag(s.Relations[i].OwnApplicationBag)
		}
		a.heard.relations[uid] = of
	}
}

// own reports whether a unit hears nothing of what is in the application's bag.
func own(s *conversation.Snapshot, r *conversation.Relation) bool {
	return r.Role == application.Peer && (s.Leader || r.OwnApplicationWriter == s.Unit)
}

// tell handles the next event, if one is owed. Who dies after the handler has
// run, and before that is saved, does not remember it.
func (a *agent) tell(t require.TestingT, dies bool) bool {
	e, owed := conversation.Next(a.memory, a.shown)
	if !owed {
		return false
	}
	if a.repeated != nil {
		assert.Equal(t, *a.repeated, e, "a restart repeats the last event and no other")
		a.repeated = nil
	}
	after := a.judge(t, e)
	a.members(t, e, after)
	if dies {
		a.repeated = &e
		shown := a.shown
		a.restart()
		a.deliver(a.used, shown)
		a.repeated = &e
		return true
	}
	a.heard = after
	a.memory = a.memory.After(e, a.shown)
	a.save(t)
	if a.heard.relations[e.Relation].acted {
		a.acted[handledEnd(e.Relation, a.unit.Application)] = true
	}
	return true
}

// judge fails for an event that must not be told now, and returns what the
// handlers know after it.
func (a *agent) judge(t require.TestingT, e conversation.Event) heard {
	after := heard{a.heard.leader, a.heard.term, maps.Clone(a.heard.relations)}
	if e.Kind == conversation.Elected {
		require.True(t, a.shown.Leader && (!a.heard.leader || a.heard.term != a.shown.Term), "elected once a term")
		after.leader, after.term = true, a.shown.Term
		return after
	}
	i := slices.IndexFunc(a.shown.Relations, func(r conversation.Relation) bool { return r.UID == e.Relation })
	require.GreaterOrEqual(t, i, 0, "SAFETY.md E13: nothing is told of what the snapshot does not mention")
	h := hearing{t, a, &a.shown.Relations[i], after.relations[e.Relation]}
	h.of.members = maps.Clone(h.of.members)
	after.relations[e.Relation] = h.hear(e)
	return after
}

// hearing is a unit that hears one event of one relation.
type hearing struct {
	t  require.TestingT
	a  *agent
	r  *conversation.Relation
	of heardOf
}

func (h *hearing) closing() bool {
	return h.r.Life != conversation.Alive || h.a.shown.Leaving != ""
}

func (h *hearing) hear(e conversation.Event) heardOf {
	require.False(h.t, h.of.over && !h.inherits(e), "SAFETY.md E16: broken for good is the last of a relation")
	outside := e.Kind == conversation.Created || !h.of.open && (e.Kind == conversation.Broken || h.inherits(e))
	require.NotEqual(h.t, outside, h.of.open, "RELATIONS.md E1: created comes first, once: %v", e)
	if h.of.pending != nil && h.known(*h.of.pending) {
		require.True(h.t, e.Kind == conversation.Changed && e.Unit != nil && *e.Unit == *h.of.pending, "RELATIONS.md E2: %v", e)
	}
	switch e.Kind {
	case conversation.Created:
		require.False(h.t, h.closing(), "RELATIONS.md E1: nobody hears of a relation when it ends")
		h.of = heardOf{open: true, members: map[conversation.Unit]conversation.Bag{}, left: h.of.left}
		if own(&h.a.shown, h.r) {
			h.of.application = h.applicationBag()
		}
	case conversation.Joined:
		h.joined(e)
	case conversation.Changed:
		h.changed(e)
	case conversation.Departed:
		h.departed(e)
	case conversation.Broken:
		h.broken(e)
	default:
		require.Fail(h.t, "an event of no kind", "%v", e)
	}
	return h.of
}

// inherits reports whether an event is of an end that is left to the leader, which has not handled it yet
// (TRUST.md T2).
func (h *hearing) inherits(e conversation.Event) bool {
	ends := e.Kind == conversation.Broken && e.Final || e.Kind == conversation.Departed && h.r.Final && h.stranger()
	return ends && h.r.End.Inherited && h.a.shown.Leader && h.a.shown.Leaving == "" && !h.of.acted
}

// stranger reports whether the unit never knew the relation, or has forgotten it: what is over is forgotten once a
// snapshot does not mention it.
func (h *hearing) stranger() bool {
	forgotten := h.of.over && h.a.memory.Relations[h.r.UID].Stage == ""
	return !h.of.open && !h.of.closed && (!h.of.over || forgotten) && h.r.Role != application.Peer
}

func (h *hearing) known(u conversation.Unit) bool {
	return h.closing() || slices.ContainsFunc(h.r.Units, func(m conversation.Member) bool { return m.Unit == u }) ||
		slices.ContainsFunc(h.r.Departed, func(d conversation.Tombstone) bool { return d.Unit == u })
}

// bag is what the snapshot shows of another unit.
func (h *hearing) bag(u conversation.Unit) conversation.Bag {
	for _, m := range h.r.Units {
		if m.Unit == u {
			return h.a.shown.Bag(m.Bag)
		}
	}
	for _, d := range h.r.Departed {
		if d.Unit == u {
			return h.a.shown.Bag(d.Bag)
		}
	}
	return nil
}

func (h *hearing) applicationBag() conversation.Bag {
	if h.r.Role == application.Peer {
		return h.a.shown.Bag(h.r.OwnApplicationBag)
	}
	return h.a.shown.Bag(h.r.RemoteBag)
}

func (h *hearing) joined(e conversation.Event) {
	require.False(h.t, h.closing(), "nobody joins what ends")
	units := e.Joined
	if e.Unit != nil {
		units = []conversation.Unit{*e.Unit}
		h.of.pending = e.Unit
	} else {
		require.Empty(h.t, h.of.members, "RELATIONS.md E12: the first join")
		if e.Difference.After != "" {
			h.compare(e.Difference, h.of.application, h.applicationBag())
			h.of.application = h.applicationBag()
		}
	}
	if !own(&h.a.shown, h.r) {
		require.True(h.t, maps.Equal(h.of.application, h.applicationBag()), "RELATIONS.md E5: the application is heard before a unit joins")
	}
	for _, u := range units {
		require.NotEqual(h.t, h.a.unit, u, "RELATIONS.md E8")
		require.NotContains(h.t, h.of.members, u, "RELATIONS.md E6: joined once")
		require.True(h.t, slices.ContainsFunc(h.r.Units, func(m conversation.Member) bool { return m.Unit == u }), "RELATIONS.md E6: in scope")
		h.of.members[u] = nil
		if e.Unit == nil {
			h.of.members[u] = h.bag(u)
		}
	}
}

func (h *hearing) changed(e conversation.Event) {
	if e.Unit == nil {
		require.False(h.t, h.closing() || own(&h.a.shown, h.r), "RELATIONS.md E8: a unit never hears of its own writes")
		require.False(h.t, maps.Equal(h.of.application, h.applicationBag()), "a change changes something")
		h.compare(e.Difference, h.of.application, h.applicationBag())
		h.of.application = h.applicationBag()
		return
	}
	u := *e.Unit
	require.NotEqual(h.t, h.a.unit, u, "RELATIONS.md E8")
	require.Contains(h.t, h.of.members, u, "SAFETY.md E16: joined comes before changed")
	first := h.of.pending != nil && *h.of.pending == u
	require.True(h.t, first || !maps.Equal(h.of.members[u], h.bag(u)), "a change changes something")
	h.compare(e.Difference, h.of.members[u], h.bag(u))
	h.of.members[u] = h.bag(u)
	if first {
		h.of.pending = nil
	}
}

// compare proves a difference against whole bags (RELATIONS.md E10).
func (h *hearing) compare(d conversation.Difference, before, after conversation.Bag) {
	c := conversation.Compare(conversation.Address{}, before, after)
	require.Equal(h.t, slices.Sorted(maps.Keys(c.Added)), d.Added)
	require.Equal(h.t, slices.Sorted(maps.Keys(c.Changed)), d.Changed)
	require.Equal(h.t, slices.Sorted(maps.Keys(c.Removed)), d.Removed)
	require.Equal(h.t, c.After, d.After)
	if d.Before != "" {
		require.Equal(h.t, c.Before, d.Before)
	}
}

func (h *hearing) departed(e conversation.Event) {
	u := *e.Unit
	i := slices.IndexFunc(h.r.Departed, func(d conversation.Tombstone) bool { return d.Unit == u })
	require.True(h.t, i >= 0 || h.closing(), "SAFETY.md E13: an end is never guessed")
	if _, knew := h.of.members[u]; !knew {
		inherits := h.a.shown.Leader && i >= 0 && (h.r.Departed[i].Inherited || !h.of.open && h.inherits(e))
		require.True(h.t, inherits, "SAFETY.md E15: only the leader inherits a departure")
	}
	require.NotEmpty(h.t, e.Reason)
	want := u
	if h.a.shown.Leaving != "" {
		want = h.a.unit
	}
	require.Equal(h.t, want, *e.Departing, "RELATIONS.md E3")
	delete(h.of.members, u)
	h.of.left = append(slices.Clone(h.of.left), u)
	if h.of.pending != nil && *h.of.pending == u {
		h.of.pending = nil
	}
}

func (h *hearing) broken(e conversation.Event) {
	require.True(h.t, h.closing() && h.r.Role != application.Peer, "RELATIONS.md E4")
	require.Empty(h.t, h.of.members, "RELATIONS.md E4: after every departure")
	require.Equal(h.t, h.r.Life == conversation.Ending, e.Final, "SAFETY.md E14")
	require.True(h.t, h.of.open || h.of.closed && e.Final || h.inherits(e), "RELATIONS.md E4: broken once")
	require.NotEmpty(h.t, e.Reason)
	if h.stranger() {
		for _, d := range h.r.Departed {
			require.Contains(h.t, h.of.left, d.Unit, "RELATIONS.md E4, TRUST.md T2: after every departure")
		}
	}
	h.of = heardOf{over: e.Final, closed: !e.Final, acted: e.Final && h.a.shown.Leader, left: h.of.left}
}
