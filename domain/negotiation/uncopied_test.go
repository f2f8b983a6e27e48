package negotiation_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// joined returns both maps as one.
func joined(a, b map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// late returns a world in which web declares on its own metadata what it consumes, and runs without an agent: its
// template lacks the keys.
func late() *world {
	w := newWorld()
	w.external("db", "main:pg")
	w.deployment("web", nil)
	w.lacks(map[string]string{application.KeyConsumes: "store:pg"})
	w.pod(application.Deployment, "web", "web-1")
	p := w.pods["web-1"]
	p.Injected = false
	w.pods["web-1"] = p
	return w
}

// lacks gives Deployment web annotations that have not been copied to its template.
func (w *world) lacks(keys map[string]string) {
	v := w.workloads["Deployment/web"]
	v.Annotations = joined(v.Annotations, keys)
	v.Uncopied = joined(keys, map[string]string{application.KeyCopied: "a"})
	w.workloads["Deployment/web"] = v
}

// A template that lacks what its workload declares gets it, once for the same keys, and not while its pods are replaced
// (TRUST.md A11, SAFETY.md L8).
func TestUncopiedKeysAreWritten(t *testing.T) {
	tests := map[string]struct {
		why     string
		happens func(t *testing.T, w *world)
		want    int
	}{
		"Once": {why: "the webhook was away when the workload was admitted", happens: func(*testing.T, *world) {}, want: 1},
		"Again": {why: "another writer took the keys away again: two writers would roll it out for ever", happens: func(t *testing.T, w *world) {
			w.deployment("web", nil)
			w.lacks(map[string]string{application.KeyConsumes: "store:pg"})
			w.later(t, 2*time.Hour)
			c := w.says("web", condition.NotInjected)
			assert.Equal(t, "KeysRemoved", c.Reason)
			assert.Contains(t, c.Message, "Deployment web has lost injector.tengu.io/copied, tengu.io/consumes from its pod template")
		}, want: 1},
		"Others": {why: "other keys are written too", happens: func(t *testing.T, w *world) {
			w.lacks(map[string]string{application.KeyGate: "none"})
			w.later(t, 6*time.Minute)
		}, want: 2},
		"Soon": {why: "L8: at most one in five minutes", happens: func(t *testing.T, w *world) {
			w.lacks(map[string]string{application.KeyGate: "none"})
			w.later(t, time.Minute)
		}, want: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := late()
			w.settle(t)
			assert.Equal(t, "store:pg", w.workloads["Deployment/web"].TemplateAnnotations[application.KeyConsumes])
			w.finishRollouts()
			test.happens(t, w)
			assert.Equal(t, test.want, w.restarts(), test.why)
		})
	}
}

// What does not get its keys, and why (TRUST.md A11).
func TestUncopiedKeysThatStay(t *testing.T) {
	tests := map[string]struct {
		why    string
		change func(w *world, v *application.Workload)
		wants  bool
	}{
		"Rolling":      {why: "its pods are being replaced", change: func(_ *world, v *application.Workload) { v.RollingOut = true }},
		"RollsNothing": {why: "it has no pod yet: they may be refused", change: func(w *world, v *application.Workload) { v.RollingOut = true; clear(w.pods) }, wants: true},
		"OptedOut":     {why: "its pods are to have no agent", change: func(_ *world, v *application.Workload) { v.Uncopied[application.KeyInject] = "false" }},
		"OptsOut": {why: "so its template says", change: func(_ *world, v *application.Workload) {
			v.TemplateLabels = map[string]string{"app": "web", application.KeyInject: "false"}
		}},
		"Invalid":   {why: "the pods would be refused", change: func(_ *world, v *application.Workload) { v.Annotations[application.KeyConsumes] = "a b c" }},
		"Namespace": {why: "it has not opted in", change: func(w *world, _ *application.Workload) { w.optedIn = false }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := late()
			v := w.workloads["Deployment/web"]
			test.change(w, &v)
			w.workloads["Deployment/web"] = v
			w.settle(t)
			assert.Equal(t, test.wants, w.restarts() == 1, test.why)
			if name == "Rolling" {
				assert.True(t, w.says("web", condition.NotInjected).True, "its pod has no agent meanwhile")
				w.finishRollouts()
				w.settle(t)
				assert.Equal(t, 1, w.restarts(), "then it gets them")
			}
		})
	}
}

// Whatever comes and goes, a template never gets the same keys twice in a row, and rollouts keep their distance
// (TRUST.md A11, SAFETY.md L8).
func TestUncopiedKeysComeOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := late()
		written, last := "none yet", time.Time{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			before := w.restarts()
			env := rapid.SampledFrom([]string{"store=host", "store=port"}).Draw(t, "env")
			w.deployment("web", nil)
			w.lacks(map[string]string{application.KeyConsumes: "store:pg", application.KeyEnv: env})
			w.later(t, time.Duration(rapid.IntRange(1, 20).Draw(t, "minutes"))*time.Minute)
			w.finishRollouts()
			if w.restarts() > before {
				assert.Equal(t, before+1, w.restarts())
				assert.True(t, last.IsZero() || w.now.Sub(last) >= 5*time.Minute, "L8")
				assert.NotEqual(t, written, env)
				written, last = env, w.now
			}
		}
	})
}
