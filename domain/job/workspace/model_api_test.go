package workspace_test

import (
	"errors"
	"reflect"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/retention"
	. "gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace" //nolint:revive // the model speaks the words of the room
)

type object struct {
	fence int64
	at    time.Duration
}

func (m *model) extent() Extent {
	e := Extent{Fence: m.served}
	for _, o := range m.blobs {
		e.Fence = max(e.Fence, o.fence)
	}
	for fence := range m.claims {
		e.Fence = max(e.Fence, fence)
	}
	for number := range m.records {
		e.Generation = max(e.Generation, number)
	}
	return e
}

func (m *model) sweep() {
	var prefixes []retention.Prefix
	newest := map[int64]time.Duration{}
	for _, o := range m.blobs {
		newest[o.fence] = max(newest[o.fence], o.at)
	}
	for fence, at := range newest {
		prefixes = append(prefixes, retention.Prefix{Fence: fence, Newest: m.time().Add(at - m.now - retention.Age + 5*time.Second)})
	}
	for _, fence := range retention.Sweep(m.ws, m.extent(), prefixes, m.time()) {
		m.log("sweep fence %d", fence)
		m.counts["sweep"]++
		for key, o := range m.blobs {
			if o.fence == fence {
				delete(m.blobs, key)
			}
		}
	}
}

// serve lets the jobs API handle a message. It may die after each write, so that the next ones and the answer are lost.
func (m *model) serve(msg message) error {
	before := m.ws
	answer := message{kind: "answer", of: msg.kind, pod: msg.pod, end: msg.end}
	next, err := m.handle(msg, &answer)
	answer.err = err
	m.log("%s of %s: %v %s", msg.kind, msg.pod.id, err, answer.result)
	if err := m.write(msg.kind, next); err != nil {
		return err
	}
	switch {
	case err == nil && msg.kind == "claim":
		if err := m.grants(msg, answer.lock); err != nil {
			return err
		}
	case msg.kind == "end" && msg.end.Outcome == job.Committed && answer.result == "" && !errors.Is(err, ErrInvalid):
		return broken("J7", "the end of %s has no outcome, cancelled or not", msg.pod.run)
	case msg.kind == "end" && (answer.result == job.Committed || answer.result == job.Orphaned) && !m.ws.Names(msg.end.Blob.Key):
		return broken("J3", "archive %s was answered %s, and is lost", msg.end.Blob.Key, answer.result)
	case !isRefusal(err) && err != nil:
		return broken("J8", "an error without a reason: %v", err)
	}
	var repeated message
	again, err2 := m.handle(msg, &repeated)
	if repeated.result != answer.result || (err2 == nil) != (err == nil) {
		return broken("J8", "a repeated %s is answered %s, %v, not %s, %v", msg.kind, repeated.result, err2, answer.result, err)
	}
	if !reflect.DeepEqual(again, m.ws) {
		return broken("J8", "a repeated %s changes\n%+v\nto\n%+v\nbefore\n%+v", msg.kind, m.ws, again, before)
	}
	if m.chance(8) {
		return nil // the answer is lost, and so is the record
	}
	m.record()
	answer.cancel = msg.pod.run.cancelled
	answer.sent = msg.sent
	m.net = append(m.net, answer)
	return nil
}

// record writes what the store records of the Workspace.
func (m *model) record() {
	if m.ws.State.Number > 0 {
		m.records[m.ws.State.Number] = m.ws.State.Blob
	}
}

// handle returns the Workspace after a message.
func (m *model) handle(msg message, answer *message) (Workspace, error) {
	switch msg.kind {
	case "claim":
		s := msg.start
		s.Extent = m.extent()
		s.Recorded = m.claims[m.ws.Lock.Fence]
		next, err := m.ws.Claim(s)
		if err == nil {
			m.claims[next.Lock.Fence] = s.Claimant.ID
			answer.lock = next.Lock
		}
		return next, err
	case "renew":
		l := m.ws.Lock
		if l.Fence != msg.pod.fence {
			return m.ws, ErrStale
		}
		m.leases[l.Fence] = max(m.leases[l.Fence], msg.number)
		return m.ws, nil
	case "save":
		if _, there := m.blobs[msg.save.Checkpoint.Key]; !there {
			return m.ws, ErrInvalid
		}
		return m.ws.Save(msg.save)
	}
	for _, key := range []string{msg.end.Blob.Key, msg.end.Plan.Key} {
		if _, there := m.blobs[key]; !there && key != "" {
			return m.ws, ErrInvalid
		}
	}
	end := msg.end
	end.Extent = m.extent()
	next, outcome, err := m.ws.End(end)
	answer.result = outcome
	return next, err
}

// grants checks a granted claim.
func (m *model) grants(msg message, l Lock) error {
	if msg.pod.run.end != "" && m.restores == 0 {
		return broken("J1", "%s was granted a claim after its end", msg.pod.run)
	}
	if known := m.granted[l.Fence]; known != "" && known != msg.start.Claimant.ID {
		return broken("J2", "fence %d was granted to %s and %s", l.Fence, known, msg.start.Claimant.ID)
	}
	m.granted[l.Fence] = msg.start.Claimant.ID
	return m.grantsPlan(msg.pod.run)
}

// grantsPlan checks that no other Run was let apply the plan of a Run that may start now.
func (m *model) grantsPlan(r *run) error {
	if r.applies == "" {
		return nil
	}
	m.counts["apply"]++
	if known := m.applied[r.applies]; known != nil && known != r {
		return broken("J17", "plan %s is applied by %s and %s", r.applies, known, r)
	}
	m.applied[r.applies] = r
	return nil
}

// uploaded returns the archive of the end of a hold that the store holds.
func (m *model) uploaded(fence int64) Blob {
	for _, p := range m.pods {
		if b := p.capture.Blob; p.fence == fence && b.Key != "" {
			if _, there := m.blobs[b.Key]; there {
				return b
			}
		}
	}
	return Blob{}
}
