package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// A log shows once what a run waits for, and each half minute how long the run has taken; what was
// done is shown at once.
func TestProgressInALog(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	now := began
	var out bytes.Buffer
	p := &progress{activity: (screen{errs: &out}).activity(func() time.Time { return now })}
	web := bundle.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	waits := engine.Progress{Revision: 1, Next: bundle.Next{All: 2, Finished: 1, Waits: []bundle.Wait{
		{ID: bundle.ID{Kind: "Pod", Name: "later"}, On: web, For: "Deployment shop/web (phase workloads)"}, {ID: web, For: "0 of 1 pods are ready", Since: began},
	}}}
	for range 64 {
		p.tell(waits)
		now = now.Add(time.Second)
	}
	const line = "1/2 healthy · waiting for Deployment shop/web: 0 of 1 pods are ready · "
	assert.Equal(t, line+"0s\n"+line+"30s\n"+line+"1m0s\n", out.String())

	out.Reset()
	waits.Next.Apply = []bundle.Write{{Object: bundle.Object{"kind": "Service", "metadata": map[string]any{"name": "web"}}}}
	p.tell(waits)
	assert.Equal(t, "creates Service web\n"+line+"1m4s\n", out.String())
}

// What counts as healthy without a sign of it is named when the run has succeeded (CONTENT.md H5).
func TestProgressNamesAssumptions(t *testing.T) {
	var out bytes.Buffer
	p := &progress{activity: (screen{errs: &out}).activity(time.Now)}
	next := bundle.Next{Assumed: []bundle.Assumption{{ID: bundle.ID{Group: "example.org", Kind: "Engine", Name: "v8"}, Why: "reports nothing"}}}
	p.tell(engine.Progress{Next: next})
	assert.NotContains(t, out.String(), "note:", "the run goes on")
	next.Outcome = bundle.Succeeded
	p.tell(engine.Progress{Next: next})
	assert.Contains(t, out.String(), "note: Engine.example.org v8 counts as healthy without a sign of it: it reports nothing; to have it judged, "+
		"add to spec.healthChecks {group: example.org, kind: Engine, ready: an expression over object.status}")
}

// The end of a log is printed as long as the log is there: once while its container is waited for, and
// where it has failed.
func TestProgressQuotesLogs(t *testing.T) {
	var out bytes.Buffer
	job, log := bundle.ID{Group: "batch", Kind: "Job", Namespace: "shop", Name: "ask"}, bundle.Log{Namespace: "shop", Pod: "ask-1", Container: "m"}
	p := &progress{activity: (screen{errs: &out}).activity(time.Now), shown: map[bundle.Log]bool{}, tail: func(l bundle.Log) []string {
		assert.Equal(t, log.Container, l.Container)
		return []string{"cannot reach", "the database"}
	}}
	waits := engine.Progress{Next: bundle.Next{Outcome: bundle.Progressing, Waits: []bundle.Wait{{ID: job, For: "it exited", Log: log}}}}
	p.tell(waits)
	p.tell(waits)
	const quoted = "it exited; its log ends with:\n    cannot reach\n    the database\n"
	assert.Equal(t, "waiting for Job shop/ask: "+quoted+"deleting · waiting for Job shop/ask: it exited; see kubectl -n shop logs ask-1 -c m · 0s\n", out.String())

	out.Reset()
	other := engine.Progress{Next: bundle.Next{Outcome: bundle.Progressing, Waits: []bundle.Wait{{ID: job, For: "it exited",
		Log: bundle.Log{Namespace: "shop", Pod: "ask-2", Container: "m"}}}}}
	for range 3 {
		p.tell(other)
		p.tell(waits)
	}
	assert.Equal(t, 1, strings.Count(out.String(), quoted), "pods that crash in turn are quoted once each")

	failed := engine.Progress{Next: bundle.Next{Outcome: bundle.Failed, Failures: []bundle.Failure{{ID: job, Why: "it exited", Log: log}}}}
	out.Reset()
	p.tell(failed)
	assert.Equal(t, "failed: Job shop/ask: "+quoted, out.String())

	out.Reset()
	p.tail = func(bundle.Log) []string { return nil }
	p.tell(failed)
	assert.Equal(t, "failed: Job shop/ask: it exited; see kubectl -n shop logs ask-1 -c m\n", out.String(), "it may not be read")
}

// Nothing in a log steers the terminal.
func TestPrintable(t *testing.T) {
	assert.Equal(t, []string{"a b", "[31mred", "ü"}, printable("a\tb \n\n\x1b[31mred\r\nü\x07"))
	assert.Len(t, []rune(printable(strings.Repeat("x", 1000))[0]), tailWidth)
}

// A status is what a run waits for, never a chain of names that reads as a failure.
func TestStatusOf(t *testing.T) {
	namespace, policy := bundle.ID{Kind: "Namespace", Name: "orcon-system"}, bundle.ID{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy", Name: "orcon"}
	job := bundle.ID{Group: "batch", Kind: "Job", Namespace: "shop", Name: "ask"}
	waits := func(all ...bundle.Wait) bundle.Next {
		return bundle.Next{All: 33, Outcome: bundle.Progressing, Waits: all}
	}
	tests := map[string]struct {
		now  engine.Progress
		want string
	}{
		"Phase":     {engine.Progress{Revision: 1, Next: waits(bundle.Wait{ID: policy, On: namespace, For: "Namespace orcon-system (phase namespaces)"})}, "waiting for Namespace orcon-system"},
		"Job":       {engine.Progress{Revision: 1, Next: waits(bundle.Wait{ID: job, For: "is running (0 of 1 completed)", Since: time.Unix(1, 0)})}, "waiting for Job shop/ask, which is running (0 of 1 completed)"},
		"Back":      {engine.Progress{Revision: 2, Back: true, Next: waits(bundle.Wait{ID: job, On: namespace})}, "rolling back · waiting for Namespace orcon-system"},
		"Delete":    {engine.Progress{Next: waits(bundle.Wait{ID: namespace, For: "is being deleted"})}, "deleting · waiting for Namespace orcon-system, which is being deleted"},
		"Lost":      {engine.Progress{Revision: 1, Trouble: errors.New("connection refused")}, "cannot read the cluster: connection refused"},
		"Interrupt": {engine.Progress{Revision: 1, Trouble: fmt.Errorf("cannot read the pods: %w", context.Canceled)}, ""},
		"Failed":    {engine.Progress{Revision: 1, Next: bundle.Next{Outcome: bundle.Failed, Waits: []bundle.Wait{{ID: job}}}}, ""},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) { assert.Equal(t, tc.want, statusOf(tc.now)) })
	}
}
