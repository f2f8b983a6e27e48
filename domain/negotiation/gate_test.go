package negotiation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// change changes a pod.
func (w *world) change(name string, do func(*application.Pod)) {
	p := w.pods[name]
	do(&p)
	w.pods[name] = p
}

// hold makes the agent of a pod hold back its containers from now on.
func (w *world) hold(pod string) {
	w.change(pod, func(p *application.Pod) { p.Holding = w.now })
}

// A gate that stays closed although the data is complete is reported: the agent cannot reach the controller, or
// cannot write files (TRUST.md A4).
func TestOverdueGate(t *testing.T) {
	begin := func(t *testing.T, complete bool) *world {
		w := newWorld()
		if complete {
			w.external("db", "main:pg")
		}
		w.consumes("web", "store:pg", "db")
		w.pod(application.Deployment, "web", "web-0")
		w.hold("web-0")
		w.settle(t)
		return w
	}
	tests := map[string]struct {
		why string
		do  func(*testing.T, *world)
		is  bool
		// late is set where the provider is not there at first.
		late bool
	}{
		"Stays":  {"half a minute after the start, and half a minute more", func(t *testing.T, w *world) { w.later(t, 30*time.Second); w.later(t, 30*time.Second) }, true, false},
		"Starts": {"the kubelet needs some of the time", func(t *testing.T, w *world) { w.later(t, 30*time.Second); w.later(t, 29*time.Second) }, false, false},
		"Opens":  {"it has opened", func(t *testing.T, w *world) { w.later(t, 30*time.Second); w.open("web-0"); w.later(t, time.Hour) }, false, false},
		"Mended": {"and is no longer reported", func(t *testing.T, w *world) {
			w.later(t, 30*time.Second)
			w.later(t, time.Hour)
			w.open("web-0")
			w.settle(t)
		}, false, false},
		"Ending":  {"the pod goes", func(t *testing.T, w *world) { w.end("web-0"); w.later(t, time.Hour); w.later(t, time.Hour) }, false, false},
		"Waiting": {"data is missing: the gate is closed for that", func(t *testing.T, w *world) { w.later(t, time.Hour); w.later(t, time.Hour) }, false, true},
		"JustNow": {"the data has come after an hour, and the agent has time to write it", func(t *testing.T, w *world) {
			w.later(t, time.Hour)
			w.external("db", "main:pg")
			w.settle(t)
			w.later(t, 29*time.Second)
		}, false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := begin(t, !test.late)
			test.do(t, w)
			c := w.says("web", condition.AgentFailed)
			assert.Equal(t, test.is, c.True, test.why)
			if test.is {
				assert.Equal(t, "GateClosed", c.Reason)
				assert.Contains(t, c.Message, "kubectl describe pod web-0 -n shop")
				assert.False(t, w.says("web", condition.Ready).True)
			}
		})
	}
}

func (w *world) open(pod string) { w.change(pod, func(p *application.Pod) { p.Holding = time.Time{} }) }
func (w *world) end(pod string)  { w.change(pod, func(p *application.Pod) { p.Ending = true }) }

// What else a wait meets is named beside it: a policy that keeps the agent from the controller, a node that gives no
// variables, a rollout that counts as failed meanwhile (TRUST.md A5, A8).
func TestWhatAWaitMeets(t *testing.T) {
	denied := func(p *application.Pod) { p.EgressDenied = "default-deny" }
	old := func(p *application.Pod) {
		p.NodeReason, p.NodeTrouble = "OldKubelet", "the kubelet of node n1 is v1.34.1"
	}
	late := func(w *world) {
		web := w.workloads["Deployment/web"]
		web.PastDeadline = 600
		w.workloads["Deployment/web"] = web
	}
	tests := map[string]struct {
		why    string
		do     func(*world)
		after  time.Duration
		of     condition.Type
		reason string
		want   string
	}{
		"Egress":      {"also while data is missing", func(w *world) { w.change("web-0", denied) }, 30 * time.Second, condition.AgentFailed, "EgressDenied", "default-deny"},
		"EgressEarly": {"a network that enforces nothing lets it through", func(w *world) { w.change("web-0", denied) }, 29 * time.Second, condition.AgentFailed, "", ""},
		"OldKubelet":  {"at once: it does not pass", func(w *world) { w.change("web-0", old) }, 0, condition.AgentFailed, "OldKubelet", "node n1"},
		"Deadline":    {"what acts on a failed rollout should know", late, 0, condition.Reconciling, "WaitingForRelations", "progressDeadlineSeconds (600)"},
		"Started":     {"its pods have started: the rollout failed for another reason", func(w *world) { late(w); w.open("web-0") }, 0, condition.Reconciling, "WaitingForRelations", "waits for store"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.consumes("web", "store:pg", "db")
			w.pod(application.Deployment, "web", "web-0")
			w.hold("web-0")
			test.do(w)
			w.settle(t)
			w.later(t, test.after)
			c := w.says("web", test.of)
			assert.Equal(t, test.reason, c.Reason, test.why)
			assert.Contains(t, c.Message, test.want, test.why)
			assert.Equal(t, name == "Deadline", strings.Contains(c.Message, "counts as failed"), test.why)
		})
	}
}

// However the gates of pods open and close, none is reported that has not been closed for a minute, and each that
// has been for an hour is.
func TestOverdueGateProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.external("db", "main:pg")
		w.consumes("web", "store:pg", "db")
		w.pod(application.Deployment, "web", "web-0")
		var since time.Time
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "toggle") {
				if since.IsZero() {
					since = w.now
				} else {
					since = time.Time{}
				}
				w.change("web-0", func(p *application.Pod) { p.Holding = since })
			}
			w.later(t, time.Duration(rapid.IntRange(1, 7200).Draw(t, "seconds"))*time.Second)
			if c := w.says("web", condition.AgentFailed); c.True {
				assert.False(t, since.IsZero() || w.now.Before(since.Add(time.Minute)), "too early: %s", c.Message)
			}
		}
		if since.IsZero() {
			return
		}
		for range 2 {
			w.later(t, time.Hour)
		}
		assert.True(t, w.says("web", condition.AgentFailed).True)
	})
}
