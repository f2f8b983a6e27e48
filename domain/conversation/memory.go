package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Memory records the events that a unit has received, over restarts, so that it receives the rest. The zero Memory
// has none. It is a value: each change returns another one.
//
// It has names and hashes, never a bag's values, and it is bounded: its part about a snapshot is at most as large as
// the snapshot. Beyond the snapshot it has at most maxUnknown relations, as many units in each, and as many secrets.
type Memory struct {
	// Leader reports that the unit has learnt of its leadership, and still leads; Term numbers the term, so that it
	// learns of another also if it missed the time between.
	Leader bool  `json:"leader,omitempty"`
	Term   int64 `json:"term,omitempty"`
	// Turn is the relation that had the last event (RELATIONS.md E9).
	Turn Turn `json:"turn,omitzero"`
	// Relations holds the progress of each relation, by UID.
	Relations map[string]Told `json:"relations,omitempty"`
	// Secrets holds the progress of each secret, by ID.
	Secrets map[string]ToldSecret `json:"secrets,omitempty"`
}

// maxUnknown is the number of relations, and of units of one, that are remembered although the snapshot does not
// mention them. Absence does not mean an end (SAFETY.md E13), but a memory that only grows ends the agent. Tombstones
// last until they were handled, so that this many are left over only if those were lost.
const maxUnknown = 256

// Stage is the progress of a unit in a relation.
//
//	        created           broken
//	(none) ─────────▶ open ─────────▶ closed ──broken, final──▶ over
//	                    ▲  └───────────┼──broken, final──────────▲
//	                    └───created────┘
type Stage string

// The stages. A relation that was suspended, or that the unit itself left, may
// open again; one that is over never does (SAFETY.md E16).
const (
	Open   Stage = "open"
	Closed Stage = "closed"
	Over   Stage = "over"
)

// Told records the events of one relation that a unit has received.
type Told struct {
	ID    int   `json:"id,omitempty"`
	Stage Stage `json:"stage,omitempty"`
	// Acted is set if the final broken was handled while the unit led.
	Acted bool `json:"acted,omitempty"`
	// Members are the units that have joined, with the last announced content of their bags: a zero Seen is that of a
	// unit whose bag is announced next (RELATIONS.md E2).
	Members map[Unit]Seen `json:"members,omitempty"`
	// Application is the last announced content of the application's bag.
	Application Seen `json:"application,omitzero"`
	// Departed lists the departures that were announced, as long as their tombstones exist. In order.
	Departed []Unit `json:"departed,omitempty"`
}

// Turn is a relation's place in the order in which relations take turns: by id,
// peers last.
type Turn struct {
	Peer bool   `json:"peer,omitempty"`
	ID   int    `json:"id,omitempty"`
	UID  string `json:"uid,omitempty"`
}

// turnOf returns the place of a relation.
func turnOf(r *Relation) Turn { return Turn{r.Role == application.Peer, r.ID, r.UID} }

func (t Turn) compare(u Turn) int {
	switch {
	case t.Peer == u.Peer:
		return cmp.Or(cmp.Compare(t.ID, u.ID), strings.Compare(t.UID, u.UID))
	case t.Peer:
		return 1
	default:
		return -1
	}
}

// ParseMemory reads a memory that was written as JSON.
func ParseMemory(text []byte) (Memory, error) {
	var m Memory
	if err := json.Unmarshal(text, &m); err != nil {
		return Memory{}, fmt.Errorf("cannot read the memory of the unit: %w", err)
	}
	return m, nil
}

// Contents lists the references to contents of bags that must be kept for the differences of later ones.
func (m Memory) Contents() []databag.Ref {
	var all []databag.Ref
	for _, told := range m.Relations {
		for _, seen := range append(slices.Collect(maps.Values(told.Members)), told.Application) {
			if ref, needed := seen.content(); needed {
				all = append(all, ref)
			}
		}
	}
	return all
}

// Observe takes note of a snapshot before its events are announced: it records changes that the unit made itself,
// which are not events for it, and forgets obsolete entries. Call it once with each new snapshot.
func (m Memory) Observe(s Snapshot) Memory {
	m.Leader = m.Leader && s.Leader
	m.Relations = maps.Clone(m.Relations)
	mentioned := make(map[string]bool, len(s.Relations))
	for i := range s.Relations {
		r := &s.Relations[i]
		mentioned[r.UID] = true
		if told, known := m.Relations[r.UID]; known {
			m.Relations[r.UID] = told.observe(r, &s)
		}
	}
	m.forget(mentioned)
	m.forgetSecrets(&s)
	return m
}

// Suspended lists the UIDs of the suspended relations of a snapshot that owe the unit no more events until they go on
// (RELATIONS.md L3).
func (m Memory) Suspended(s Snapshot) []string {
	var all []string
	for i := range s.Relations {
		if r := &s.Relations[i]; r.Life == Suspended && m.Relations[r.UID].Stage != Open {
			all = append(all, r.UID)
		}
	}
	return all
}

// forget drops relations that a snapshot does not mention: those that are over, those
// whose end alone was inherited, and the oldest of too many.
func (m Memory) forget(mentioned map[string]bool) {
	maps.DeleteFunc(m.Relations, func(uid string, t Told) bool { return !mentioned[uid] && (t.Stage == Over || t.Stage == "") })
	var unknown []Turn
	for uid, told := range m.Relations {
		if !mentioned[uid] {
			unknown = append(unknown, Turn{ID: told.ID, UID: uid})
		}
	}
	slices.SortFunc(unknown, Turn.compare)
	for _, oldest := range unknown[:max(0, len(unknown)-maxUnknown)] {
		delete(m.Relations, oldest.UID)
	}
}

// with returns a memory in which one relation is remembered so.
func (m Memory) with(uid string, told Told) Memory {
	relations := make(map[string]Told, len(m.Relations)+1)
	maps.Copy(relations, m.Relations)
	relations[uid] = told
	m.Relations = relations
	return m
}

// observe is Observe for one relation.
func (t Told) observe(r *Relation, s *Snapshot) Told {
	if t.Stage == Open && ownsPeerBag(r, s) && t.Application.differs(r.OwnApplicationBag) {
		t.Application = see(r.OwnApplicationBag, s)
	}
	t.Departed = slices.DeleteFunc(slices.Clone(t.Departed), func(u Unit) bool {
		_, kept := r.tombstone(u)
		return !kept
	})
	return t.forget(r)
}

// forget drops the lowest of too many units that the snapshot does not mention.
func (t Told) forget(r *Relation) Told {
	if len(t.Members) <= maxUnknown {
		return t
	}
	known := make(map[Unit]bool, len(r.Units)+len(r.Departed))
	for _, m := range r.Units {
		known[m.Unit] = true
	}
	for _, d := range r.Departed {
		known[d.Unit] = true
	}
	var unknown []Unit
	for u := range t.Members {
		if !known[u] {
			unknown = append(unknown, u)
		}
	}
	slices.SortFunc(unknown, Unit.Compare)
	t.Members = maps.Clone(t.Members)
	for _, u := range unknown[:max(0, len(unknown)-maxUnknown)] {
		delete(t.Members, u)
	}
	return t
}

// ownsPeerBag reports whether the unit knows the application's bag among peers without an event: it leads, or wrote
// the bag itself (RELATIONS.md E5, E8).
func ownsPeerBag(r *Relation, s *Snapshot) bool {
	return r.Role == application.Peer && (s.Leader || r.OwnApplicationWriter == s.Unit)
}

// Reset returns the memory of a unit after the store went back to an earlier state, which s shows. What was said of order
// is forgotten: ends, departures, terms, revisions of secrets. What the handlers know of units and bags stays. So a
// living relation that was over is created, each secret that the unit reads has changed, and the difference of a bag is
// that to what they know (TRUST.md T6).
func (m Memory) Reset(s Snapshot) Memory {
	m.Leader, m.Term = false, 0
	relations := make(map[string]Told, len(m.Relations))
	for uid, told := range m.Relations {
		if told.Stage != Over {
			told.Departed, told.Acted = nil, false
			relations[uid] = told
		}
	}
	secrets := make(map[string]ToldSecret, len(m.Secrets))
	for id := range maps.Keys(m.Secrets) {
		secrets[id] = ToldSecret{Again: true}
	}
	for _, secret := range s.Secrets {
		secrets[secret.ID] = ToldSecret{Again: secret.Kept > 0}
	}
	m.Relations, m.Secrets = relations, secrets
	return m
}
