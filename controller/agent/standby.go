package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/stale"
)

const (
	// away is how long no address of the controller answers before Orcon counts as away (TRUST.md A1).
	away = 10 * time.Second
	// copyAgain is the pause before another look at a copy that is missing or not complete.
	copyAgain = time.Second
)

// standby has the copy of data with which the pod starts while Orcon is away. It counts only for an agent that has never
// used a snapshot: what the controller has shown is newer, or the pod has started with it.
type standby struct {
	agent *Agent
	// view is the copy as a snapshot would be; zero without one.
	view Projection
	// used is set while the gate is open by a copy alone.
	used bool
	// answered is when the controller answered last, or the agent started.
	answered time.Time
}

// shown returns what is in the files: the copy while there is one, and no snapshot.
func (s *standby) shown() Projection {
	if s.view.Stale && !s.agent.view.Heard {
		return s.view
	}
	return s.agent.view
}

// begin goes on with the copy of a process before this one, or waits until Orcon is away.
func (s *standby) begin() {
	a := s.agent
	started := a.disk.EverOpened.Exists() && (a.disk.Opened.Exists() || s.rebuilt())
	if a.view.Revisions != nil || started || !a.settings.Stale {
		return
	}
	if s.used = a.disk.Opened.Exists(); s.used {
		if view, err := s.read(); err == nil {
			s.view = view // else the files stay as they are
		}
		return
	}
	s.answered = time.Now()
	time.AfterFunc(away, s.start)
}

// rebuilt reports whether the files that the gate waits for are as before a reboot of the node, which takes them. The content
// of a granted Secret is on no disk, and the disk may have lost a databag, or all (INJECTION.md I16, SAFETY.md S1).
func (s *standby) rebuilt() bool {
	known := s.agent.view.Revisions != nil
	plan, err := s.plan()
	return err == nil && !slices.ContainsFunc(s.agent.settings.Consumes, func(e application.Endpoint) bool {
		return required(e) && (!known || plan.Keep[e.Name])
	})
}

// start opens the gate with the copy, once Orcon is away and the copy has all that the gate waits for.
func (s *standby) start() {
	a := s.agent
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.view.Heard || a.isOpen() {
		return
	}
	if left := away - time.Since(s.answered); left > 0 {
		time.AfterFunc(left, s.start)
		return
	}
	view, err := s.read()
	if err == nil {
		if unmet := view.Unmet(a.settings.Consumes); len(unmet) > 0 {
			err = fmt.Errorf("the copy of the data has no relation on endpoint %s", unmet[0].Endpoint)
		}
	}
	if err != nil {
		glog.V(1).Infof("cannot start with a copy: %v", err)
		time.AfterFunc(copyAgain, s.start)
		return
	}
	glog.Warningf("the controller has not answered for %s: starting with a copy of the data", away)
	s.view, s.used, a.ready = view, true, true
	a.apply()
}

// read reads the copy that the kubelet has written.
func (s *standby) read() (Projection, error) {
	text, err := s.agent.disk.Copy()
	if err != nil {
		return Projection{}, err
	}
	c, err := stale.Parse(string(text))
	if err != nil {
		return Projection{}, err
	}
	v := Projection{Update: conversation.Update{View: c.View()}, Present: map[string]bool{}, Heard: true, Stale: true}
	for _, r := range v.View.Relations {
		v.Present[key(r)] = true
	}
	return v, nil
}

// replaced reports whether live data has taken the place of a copy.
func (s *standby) replaced() bool { return s.used && s.agent.view.Heard }

// plan returns what the bindings volume must hold. Once the controller has answered, that is nothing which only a copy
// had, also if another process has written it: the relation may have ended.
func (s *standby) plan() (Plan, error) {
	plan := s.shown().Plan()
	plan = s.agent.bags.keep(plan, s.agent.view)
	if !s.replaced() {
		return plan, nil
	}
	plan.Keep = nil
	names, err := s.agent.disk.Bindings.Names()
	for _, name := range names {
		if _, written := plan.Write[name]; !written && !slices.Contains(plan.Remove, name) {
			plan.Remove = append(plan.Remove, name)
		}
	}
	return plan, err
}
