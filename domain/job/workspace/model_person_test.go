package workspace_test

import (
	"fmt"
	"reflect"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	. "gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace" //nolint:revive // the model speaks the words of the room
)

// person lets a person decide something, perhaps about what the person saw a while ago.
func (m *model) person() error {
	seen := m.ws
	if n := len(m.snaps); n > 0 && m.chance(20) {
		seen = m.snaps[max(0, n-3)]
	}
	if m.ws.Phase(m.extent()) == StoreAhead {
		if !m.chance(30) {
			return m.acceptStore()
		}
	}
	if m.chance(15) {
		return m.push()
	}
	if m.chance(15) && len(seen.Kept) > 0 {
		to := seen.Kept[m.r.IntN(len(seen.Kept))].Number
		next, err := m.ws.Rollback(to, seen.State.Number, "ann", m.extent())
		if err == nil && seen.State.Number != m.ws.State.Number {
			return broken("J6", "a rollback counts for what the person did not see")
		}
		return m.decided("rollback", next, err)
	}
	v := Verdict{
		Fence: seen.Lock.Fence, Seen: seen.State.Number, Torn: m.r.IntN(2) == 0, By: "ann", Extent: m.extent(),
		Uploaded: m.uploaded(m.ws.Lock.Fence), Now: m.time(),
	}
	if !seen.Lock.Held() {
		v.Fence = seen.Last.Fence
	}
	v.Remedy = Propose(seen)
	if m.chance(70) {
		v.Remedy = []Remedy{AcceptGeneration, AcceptCheckpoint, AcceptOrphan, Retry, Discard}[m.r.IntN(5)]
	}
	if n := len(seen.Orphans); n > 0 {
		v.Orphan = seen.Orphans[m.r.IntN(n)].Key
	}
	if v.Remedy == Discard && m.chance(50) {
		v.Orphan = ""
	}
	next, err := m.ws.Decide(v)
	if err == nil && (v.Fence != m.ws.Lock.Fence && m.ws.Lock.Held() && v.Orphan == "" || v.Seen != m.ws.State.Number) {
		return broken("J6", "a decision counts for what the person did not see")
	}
	if err == nil && v.Remedy == AcceptCheckpoint && m.ws.Checkpoint.Torn && !v.Torn {
		return broken("J6", "a torn checkpoint is accepted unasked")
	}
	return m.decided(string(v.Remedy), next, err)
}

// decided writes a person's decision, after which a process of the hold may go on although another one may start.
func (m *model) decided(what string, next Workspace, err error) error {
	m.log("a person decides %s: %v", what, err)
	if err != nil {
		if !reflect.DeepEqual(next, m.ws) {
			return broken("J6", "a refused decision changes the Workspace")
		}
		return nil
	}
	if next.Lock.Fence != m.ws.Lock.Fence {
		for _, p := range m.pods {
			p.disowned = p.disowned || p.fence == m.ws.Lock.Fence || p.fence == 0 && !next.Lock.Held()
		}
	}
	m.choice = what
	if err := m.write("person", next); err != nil {
		return err
	}
	if !m.chance(8) {
		m.record()
	}
	return nil
}

func (m *model) acceptStore() error {
	m.counts["the store is ahead"]++
	e := m.extent()
	r := Restored{Newest: m.records[e.Generation], Adopt: m.r.IntN(2) == 0, By: "ann", Extent: e, Uploaded: m.uploaded(m.ws.Lock.Fence), Now: m.time()}
	if _, there := m.blobs[r.Newest.Key]; !there {
		r.Newest, r.Adopt = Blob{}, false
	}
	next, err := m.ws.AcceptStore(r)
	for _, p := range m.pods {
		p.disowned = true
	}
	return m.decided("the store", next, err)
}

// push lets a person give a state.
func (m *model) push() error {
	name := fmt.Sprintf("push%d", m.steps)
	next, err := m.ws.Acquire(Admission{
		Run: Run{UID: name, Name: name, Person: true}, Published: m.ws.Last.Fence, Extent: m.extent(), Now: m.time(),
	})
	if err != nil {
		return nil //nolint:nilerr // a push that is refused is over
	}
	m.log("push")
	if err := m.write("acquire", next); err != nil || m.chance(20) {
		return err
	}
	l := m.ws.Lock
	m.claims[l.Fence] = name
	b := Blob{Digest: name, Key: fmt.Sprintf("%d/%s", l.Fence, name), Fence: l.Fence}
	m.blobs[b.Key] = object{l.Fence, m.now}
	next, _, err = m.ws.End(Capture{Run: l.Run, Fence: l.Fence, Base: l.Base, Outcome: job.Committed, Blob: b, Now: m.time()})
	if err != nil {
		return broken("J3", "a push is not committed: %v", err)
	}
	if err := m.write("end", next); err != nil {
		return err
	}
	m.record()
	return nil
}

// restore puts an older object in place of the Workspace.
func (m *model) restore() error {
	if len(m.snaps) == 0 {
		return nil
	}
	m.ws = m.snaps[m.r.IntN(len(m.snaps))]
	m.version++
	m.restores++
	m.counts["restore"]++
	m.log("restore: %+v", m.ws)
	m.pending, m.watch = nil, job.Watch{}
	for _, key := range keys(m.ws) {
		if _, there := m.blobs[key]; !there {
			m.gone[key] = true
		}
	}
	for number := range m.history { // what the store has no record of cannot be known
		if number > m.ws.State.Number && number > m.extent().Generation {
			delete(m.history, number)
		}
	}
	return nil
}
