package workspace_test

import (
	"errors"
	"fmt"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	. "gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace" //nolint:revive // the model speaks the words of the room
)

// pod is a keeper and its process.
type pod struct {
	run         *run
	attempt     int
	id          string
	fence, base int64
	alive       bool // the keeper
	running     bool // the process
	ended       bool // the process ended, and its state is not yet committed
	done        bool
	disowned    bool // a person decided although the process may run
	exclusive   bool
	acked       time.Duration // when the last acknowledged message was sent
	cancelled   time.Duration // when the keeper learnt of a cancel
	cancelling  bool
	claiming    bool
	sequence    int64
	renewal     int64
	digest      string
	capture     Capture
}

// message goes from a pod to the jobs API, or back.
type message struct {
	kind   string // claim, renew, save, end; answer
	of     string // what is answered
	pod    *pod
	sent   time.Duration
	start  Start
	save   Save
	end    Capture
	number int64
	err    error
	lock   Lock
	cancel bool
	result job.Outcome
}

// advance lets time pass. Keepers send signals when they are due.
func (m *model) advance(d time.Duration) {
	m.log("%s pass", d)
	m.now += d
	for _, p := range m.pods {
		if !p.running {
			continue
		}
		safety := job.Idempotent
		if p.exclusive {
			safety = job.Exclusive
		}
		lost, _ := timing.Unacknowledged(safety, m.now-p.acked)
		var cancel job.Signal
		if p.cancelling {
			cancel, _ = timing.Cancelled(m.now - p.cancelled)
		}
		switch {
		case lost == job.Kill || cancel == job.Kill:
			m.exit(p, job.Exit{Code: 137, Cause: job.Killed})
		case (lost == job.Terminate || cancel == job.Terminate) && m.r.IntN(2) == 0:
			m.exit(p, job.Exit{Code: 143})
		}
	}
}

// exit ends the process of a pod. What it leaves differs from what it found in most cases.
func (m *model) exit(p *pod, exit job.Exit) {
	m.log("%s ends with %s", p.id, exit)
	p.running, p.ended = false, true
	p.capture = Capture{Run: p.run.Run, Fence: p.fence, Base: p.base, Outcome: job.Committed, Exit: exit}
	if p.run.plans && exit.Success() {
		p.capture.Plan = Plan{Blob: Blob{Digest: "plan-" + p.id, Key: fmt.Sprintf("%d/%s/plan", p.fence, p.id), Fence: p.fence}, Input: "input"}
	}
	digest := fmt.Sprintf("%s-%d", p.id, p.sequence)
	switch m.r.IntN(6) {
	case 0:
		p.capture.Outcome = job.Unchanged
		return
	case 1:
		digest = p.digest
	case 2:
		if m.chance(30) {
			p.capture.Outcome = []job.Outcome{job.Orphaned, job.Failed}[m.r.IntN(2)]
		}
	}
	if digest == "" {
		p.capture.Outcome = job.Unchanged
	} else if p.capture.Outcome != job.Failed {
		p.capture.Blob = Blob{Digest: digest, Key: fmt.Sprintf("%d/%s/end", p.fence, p.id), Fence: p.fence}
	}
}

// podActs lets one pod do something.
func (m *model) podActs() error {
	if len(m.pods) == 0 {
		return nil
	}
	p := m.pods[m.r.IntN(len(m.pods))]
	if m.chance(4) {
		m.log("%s dies", p.id)
		p.alive, p.running = false, false
		return nil
	}
	return m.podStep(p)
}

func (m *model) podStep(p *pod) error {
	switch {
	case !p.alive || p.done:
	case p.fence == 0:
		if !p.claiming {
			p.claiming, p.acked = true, m.now
		}
		m.send(message{kind: "claim", pod: p, start: Start{Run: p.run.Run, Attempt: p.attempt, Claimant: Claimant{ID: p.id, Where: "n1"}}})
	case p.ended:
		if b := p.capture.Plan.Blob; b.Key != "" {
			m.blobs[b.Key] = object{p.fence, m.now}
		}
		if b := p.capture.Blob; b.Key != "" {
			m.blobs[b.Key] = object{p.fence, m.now}
			if m.chance(30) {
				return nil // it uploads, and does not come to its commit
			}
		}
		p.capture.Now = m.time()
		m.send(message{kind: "end", pod: p, end: p.capture})
	case m.r.IntN(3) == 0:
		exit := job.Exit{Code: m.r.IntN(2)}
		if m.chance(15) {
			exit = job.Exit{Code: 137, Cause: job.OutOfMemory}
		}
		m.exit(p, exit)
	case m.r.IntN(2) == 0:
		p.sequence++
		b := Blob{Digest: fmt.Sprintf("%s-%d", p.id, p.sequence), Key: fmt.Sprintf("%d/%s/%d", p.fence, p.id, p.sequence), Fence: p.fence}
		m.blobs[b.Key] = object{p.fence, m.now}
		m.send(message{kind: "save", pod: p, save: Save{p.run.Run, Checkpoint{b, p.sequence, m.r.IntN(3) == 0}}})
	default:
		p.renewal++
		m.send(message{kind: "renew", pod: p, number: p.renewal})
	}
	return nil
}

func (m *model) send(msg message) {
	msg.sent = m.now
	m.net = append(m.net, msg)
}

// deliver delivers a message, not always the first; it may be lost, or come again.
func (m *model) deliver() error {
	if len(m.net) == 0 {
		return nil
	}
	at := 0
	if m.chance(50) {
		at = m.r.IntN(len(m.net))
	}
	msg := m.net[at]
	if !m.chance(15) {
		m.net = append(m.net[:at:at], m.net[at+1:]...)
	}
	if m.chance(8) {
		return nil
	}
	if msg.kind == "answer" {
		m.answered(msg)
		return nil
	}
	return m.serve(msg)
}

// answered lets a keeper learn the answer to its message.
func (m *model) answered(a message) {
	p := a.pod
	if !p.alive || p.done {
		return
	}
	refused := errors.Is(a.err, ErrStale) || errors.Is(a.err, ErrHeld)
	if a.err == nil && a.of == "renew" {
		p.acked = max(p.acked, a.sent)
	}
	if a.cancel && !p.cancelling {
		p.cancelling, p.cancelled = true, m.now
	}
	switch {
	case a.of == "claim" && refused && p.fence == 0:
		p.done = true
	case a.of == "claim" && a.err == nil && p.fence == 0:
		p.exclusive = a.lock.Safety == job.Exclusive
		if signal, _ := a.lock.Timing.Unacknowledged(a.lock.Safety, m.now-p.acked); signal != "" {
			m.log("%s gives up: the answer came too late", p.id)
			p.done = true
			return
		}
		m.log("%s starts with fence %d", p.id, a.lock.Fence)
		p.fence, p.base, p.running, p.digest = a.lock.Fence, a.lock.Base, true, m.ws.State.Digest
	case refused && p.running:
		m.exit(p, job.Exit{Code: 137, Cause: job.Killed})
	case a.of == "end" && (a.err == nil || refused):
		if a.result == job.Orphaned || a.result.Releases() || a.result == job.Unknown || a.result == job.Failed {
			p.done = true
		}
	}
}
