package agent

import (
	"cmp"
	"slices"
)

// maxEnded is how many ended relations are remembered, so that a removal that
// failed is tried again.
const maxEnded = 64

// View is all that the agent knows.
type View struct {
	// Revisions is the highest revision of each kind that was used.
	Revisions map[string]uint64
	// Unit is the pod as its application knows it.
	Unit Unit
	// Relations are ordered by seniority: those that have been in the files
	// longest first, and by id where they came at once.
	Relations []Relation
	// Waiting says why an endpoint has no relation.
	Waiting []Waiting
	// Contents is what was read of what relations grant, by ID.
	Contents map[string]Content
	// Heard tells that this process has used a snapshot; what is only remembered
	// is not heard.
	Heard bool
}

// Unit is the pod as its application knows it.
type Unit struct {
	Application, Namespace string
	// Number counts only if Known.
	Number int64
	Known  bool
	// Ignored is why the pod's workload takes part in nothing; empty if it takes part.
	Ignored string
}

// Waiting is why an endpoint has no relation.
type Waiting struct{ Endpoint, Reason, Message string }

// Behind returns the first kind, in order of name, for which heard is older than
// what v has used; "" if there is none. A kind that heard does not name counts
// as revision 0. A snapshot that is behind is never acted on, whichever replica
// sends it (SAFETY.md V4).
func (v View) Behind(heard View) string {
	older := ""
	for kind, used := range v.Revisions {
		if heard.Revisions[kind] < used && (older == "" || kind < older) {
			older = kind
		}
	}
	return older
}

// Merge returns what is known after heard, a snapshot that is not behind. What
// heard does not name is kept (SAFETY.md E13).
func (v View) Merge(heard View) View {
	merged := View{Revisions: heard.Revisions, Unit: heard.Unit, Waiting: heard.Waiting, Heard: true}
	fresh := make(map[string]Relation, len(heard.Relations))
	for _, r := range heard.Relations {
		r.Present = true
		fresh[r.key()] = r
	}
	senior := map[string]int{}
	for i, r := range v.Relations {
		if r.projected() {
			senior[r.key()] = i - len(v.Relations)
		}
		now, present := fresh[r.key()]
		delete(fresh, r.key())
		if r.Present = false; present {
			r = r.become(now)
		}
		merged.Relations = append(merged.Relations, r)
	}
	for _, r := range fresh {
		merged.Relations = append(merged.Relations, r)
	}
	slices.SortFunc(merged.Relations, func(a, b Relation) int {
		return cmp.Or(cmp.Compare(senior[a.key()], senior[b.key()]), cmp.Compare(a.ID, b.ID), cmp.Compare(a.key(), b.key()))
	})
	merged.forget()
	merged.KeepContents(v.Contents)
	return merged
}

// forget drops the oldest ended relations beyond maxEnded.
func (v *View) forget() {
	ended := 0
	for _, r := range v.Relations {
		if r.Ended && !r.Present {
			ended++
		}
	}
	v.Relations = slices.DeleteFunc(v.Relations, func(r Relation) bool {
		drop := r.Ended && !r.Present && ended > maxEnded
		if drop {
			ended--
		}
		return drop
	})
}

// primary returns the relation that <endpoint>/ and the variables show: the
// oldest that has data and is declared, else the oldest that has data. It stays
// the same while it lives (SAFETY.md W2); a held one gives way to one that
// somebody declared in its place.
func (v View) primary(endpoint string) (Relation, bool) {
	var held *Relation
	for i, r := range v.Relations {
		switch {
		case r.Endpoint != endpoint || !r.projected():
		case !r.Held:
			return r, true
		case held == nil:
			held = &v.Relations[i]
		}
	}
	if held == nil {
		return Relation{}, false
	}
	return *held, true
}
