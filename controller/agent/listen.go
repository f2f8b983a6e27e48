package agent

import (
	"errors"
	"maps"
	"syscall"
	"time"

	"github.com/golang/glog"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// Used returns the highest revision of each kind and the highest id of a relation that were used.
func (a *Agent) Used() (revisions map[string]uint64, lastRelation int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.view.Revisions), int64(a.view.LastRelation)
}

// Eager tells whether the pod waits for its gate.
func (a *Agent) Eager() bool { return !a.isOpen() }

// Connected notes that the controller answers.
func (a *Agent) Connected() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.report.connected, a.report.since, a.report.why = true, now, ""
	a.standby.answered = now
	a.reset = false
	a.bags.reset()
	glog.Infof("connected to the controller at %s", a.settings.Address)
}

// Received keeps a part of a databag of the snapshot that comes next (TRUST.md U2). The controller is not away while
// parts come, however long the rest takes (TRUST.md A1).
func (a *Agent) Received(part *wire.Piece) error {
	a.mu.Lock()
	a.standby.answered = time.Now()
	a.mu.Unlock()
	err := a.bags.receive(part)
	if errno, is := errors.AsType[syscall.Errno](err); is {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.report.unkept.due() {
			go reportUnwritten(a.speech, "cannot keep databags: "+errno.Error())
		}
	}
	return err
}

// Lost notes that the conversation has ended or could not begin, and whether that
// was by an answer of the controller. Nothing else follows from it: the files
// stay, the gate stays as it is (SAFETY.md I19).
func (a *Agent) Lost(reason error, answered bool, pause time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.speech.lost()
	if answered {
		a.standby.answered = time.Now()
	}
	r := &a.report
	if r.connected || r.since.IsZero() {
		r.connected, r.since = false, time.Now()
	}
	if text := reason.Error(); text != r.why {
		r.why = text
		warn := glog.Warningf
		if pause == 0 { // a replica has sent the agent away: no fault
			warn = glog.Infof
		}
		warn("%s; trying again", text)
	}
	glog.V(2).Infof("the next attempt is in %s", pause.Round(time.Millisecond))
	if !a.isOpen() {
		r.wait(a.view.Unmet(a.settings.Consumes))
	}
	r.reconnects++
}
