package agent

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// maxEnded is how many ended relations are remembered, so that a removal that
// failed is tried again.
const maxEnded = 64

// Projection holds all that the agent knows and projects into files, variables and the gate. Its relations
// are ordered by seniority: those that have been in the files longest first, and by id where they came at
// once.
type Projection struct {
	conversation.Update

	// Present has the keys of the relations that the latest snapshot had. What is absent is unknown, not
	// ended (SAFETY.md E13).
	Present map[string]bool
	// Replaced has the keys of the absent relations that the endpoint's folder and variables show no more: since they
	// were absent, another relation with the same application has been complete (TRUST.md T7).
	Replaced map[string]bool
	// Contents are the contents of granted Secrets, by ID.
	Contents map[string]Content
	// Heard is set once this process has used a snapshot.
	Heard bool
	// Stale is set if this is a copy of data, in place of a snapshot.
	Stale bool
	// Before has the variables that a process before this one has written, for relations that are not read yet.
	Before map[string]string
}

// Behind returns the first kind, in order of name, for which heard is older than
// what v has used; "" if there is none. A kind that heard does not name counts
// as revision 0. A snapshot that is behind is never acted on, whichever replica
// sends it (SAFETY.md V4).
func (v Projection) Behind(heard conversation.Update) string {
	older := ""
	for kind, used := range v.Revisions {
		if heard.Revisions[kind] < used && (older == "" || kind < older) {
			older = kind
		}
	}
	return older
}

// wentBack reports whether an update shows an earlier state of the store than v. Either the controller has found that,
// which counts once a connection, or a relation that had ended lives in an update that is not older (TRUST.md T6).
func wentBack(v Projection, heard conversation.Update, counted bool) bool {
	if heard.Reset {
		return !counted
	}
	over := make(map[string]bool, len(v.View.Relations))
	for _, r := range v.View.Relations {
		over[key(r)] = ended(r)
	}
	revived := func(r conversation.Relation) bool { return !ended(r) && over[key(r)] }
	return v.Behind(heard) == "" && slices.ContainsFunc(heard.View.Relations, revived)
}

// rewind returns what is known before an update that shows an earlier state of the store: heard may be older, a relation
// that it shows has not ended, and each granted Secret must be read again. Until then its content stays (TRUST.md T6).
func rewind(v Projection, heard conversation.Update) Projection {
	present := make(map[string]bool, len(heard.View.Relations))
	for _, r := range heard.View.Relations {
		present[key(r)] = true
	}
	v.Revisions = nil
	v.View.Relations = slices.DeleteFunc(slices.Clone(v.View.Relations), func(r conversation.Relation) bool {
		return ended(r) && present[key(r)]
	})
	v.Contents = maps.Clone(v.Contents)
	for id, content := range v.Contents {
		content.Revision = unknownRevision
		v.Contents[id] = content
	}
	return v
}

// unknownRevision is that of a content that may not be in the store.
const unknownRevision = -1

// Merge returns what is known after an update that is not behind. What it does not name is kept
// (SAFETY.md E13); the contents of its bags are in the older view alone.
func (v Projection) Merge(heard conversation.Update) Projection {
	merged := Projection{Update: heard, Present: make(map[string]bool, len(heard.View.Relations)), Heard: true}
	merged.View.Relations, merged.LastRelation = nil, v.LastRelation
	fresh := make(map[string]conversation.Relation, len(heard.View.Relations))
	for _, r := range heard.View.Relations {
		merged.Present[key(r)] = true
		fresh[key(r)] = r
		merged.LastRelation = max(merged.LastRelation, r.ID)
	}
	senior := map[string]int{}
	for i, r := range v.View.Relations {
		if projected(r) {
			senior[key(r)] = i - len(v.View.Relations)
		}
		if now, present := fresh[key(r)]; present {
			delete(fresh, key(r))
			r = become(r, now)
		}
		merged.View.Relations = append(merged.View.Relations, r)
	}
	for _, r := range fresh {
		merged.View.Relations = append(merged.View.Relations, r)
	}
	slices.SortFunc(merged.View.Relations, func(a, b conversation.Relation) int {
		return cmp.Or(cmp.Compare(senior[key(a)], senior[key(b)]), cmp.Compare(a.ID, b.ID), cmp.Compare(key(a), key(b)))
	})
	giveWay(merged.View.Relations, merged.Present)
	merged.View.Relations, merged.Replaced = replaced(merged.View.Relations, merged.Present, v.Replaced)
	merged.forget()
	merged.keepContents(v.Contents)
	return merged
}

// giveWay makes relations that are lost, which the controller knows no more although they have not ended, the youngest
// of an endpoint that has a complete one (TRUST.md T7).
func giveWay(relations []conversation.Relation, present map[string]bool) {
	complete := map[string]bool{}
	for _, r := range relations {
		complete[r.Endpoint] = complete[r.Endpoint] || present[key(r)] && r.Complete && projected(r)
	}
	lost := func(r conversation.Relation) int {
		if complete[r.Endpoint] && !present[key(r)] {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(relations, func(a, b conversation.Relation) int { return lost(a) - lost(b) })
}

// replaced returns which lost relations were replaced, now or before, and the relations without those whose id a present
// one has: ids are never used again, so their namespace is numbered anew and they cannot be restored.
func replaced(relations []conversation.Relation, here, before map[string]bool) ([]conversation.Relation, map[string]bool) {
	present := slices.DeleteFunc(slices.Clone(relations), func(r conversation.Relation) bool { return !here[key(r)] })
	lost := map[string]bool{}
	relations = slices.DeleteFunc(relations, func(r conversation.Relation) bool {
		if here[key(r)] || ended(r) {
			return false
		}
		if before[key(r)] || slices.ContainsFunc(present, func(by conversation.Relation) bool {
			return by.Endpoint == r.Endpoint && by.Remote == r.Remote && by.Complete && projected(by)
		}) {
			lost[key(r)] = true
		}
		return slices.ContainsFunc(present, func(by conversation.Relation) bool { return by.Endpoint == r.Endpoint && by.ID == r.ID })
	})
	return relations, lost
}

// forget drops the oldest ended relations beyond maxEnded.
func (v *Projection) forget() {
	forgettable := func(r conversation.Relation) bool { return ended(r) && !v.Present[key(r)] }
	count := 0
	for _, r := range v.View.Relations {
		if forgettable(r) {
			count++
		}
	}
	v.View.Relations = slices.DeleteFunc(v.View.Relations, func(r conversation.Relation) bool {
		drop := forgettable(r) && count > maxEnded
		if drop {
			count--
		}
		return drop
	})
}

// primary returns the relation that <endpoint>/ and the variables show: the
// oldest that has data and is declared, else the oldest that has data. It stays
// the same while it lives (SAFETY.md W2); a held one gives way to one that
// is declared in its place.
func (v Projection) primary(endpoint string) (conversation.Relation, bool) {
	var held *conversation.Relation
	for i, r := range v.View.Relations {
		switch {
		case r.Endpoint != endpoint || !projected(r) || v.Replaced[key(r)]:
		case !r.Held:
			return r, true
		case held == nil:
			held = &v.View.Relations[i]
		}
	}
	if held == nil {
		return conversation.Relation{}, false
	}
	return *held, true
}

// key identifies a relation among those of one pod.
func key(r conversation.Relation) string {
	return cmp.Or(r.UID, r.Endpoint+":"+strconv.Itoa(r.ID))
}

func ended(r conversation.Relation) bool { return r.Life == conversation.Ending }

// projected reports whether a relation has something to put into files. A
// directory with a type and no data would look like a binding that is broken.
func projected(r conversation.Relation) bool {
	return !ended(r) && (!r.RemoteBag.Empty() || r.Complete)
}

// become returns what is known of a relation after an update of it. A bag that was emptied stays as it
// was: a provider that is gone takes no running pod's data with it. What is granted no more goes
// (SAFETY.md S1). A relation that has ended stays so.
func become(r, now conversation.Relation) conversation.Relation {
	now.ID = cmp.Or(now.ID, r.ID)
	if now.RemoteBag.Empty() {
		now.RemoteBag = r.RemoteBag
	}
	if now.Life == conversation.Suspended {
		now.Granted = r.Granted // a consent to the relation that may come back
	}
	if ended(r) {
		now.Life, now.EndReason, now.Final = r.Life, r.EndReason, r.Final
	}
	return now
}
