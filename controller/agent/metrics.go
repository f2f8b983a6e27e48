package agent

import (
	"fmt"
	"io"
	"time"
)

// WriteMetrics writes what happened in the text form that Prometheus reads.
// Labels are left out: a pod's agent is one target.
func (a *Agent) WriteMetrics(w io.Writer) error {
	a.mu.Lock()
	r, relations, complete := a.report, 0, 0
	for _, relation := range a.view.View.Relations {
		if !ended(relation) {
			relations++
		}
		if relation.Complete && !ended(relation) && a.view.Present[key(relation)] {
			complete++
		}
	}
	a.mu.Unlock()
	for _, m := range []struct {
		kind, name, help string
		value            float64
	}{
		{"gauge", "connected", "1 while the controller answers.", toFloat(r.connected)},
		{"counter", "reconnects_total", "Conversations that ended or could not begin.", float64(r.reconnects)},
		{"counter", "snapshots_applied_total", "Snapshots that were used.", float64(r.applied)},
		{"counter", "snapshots_refused_total", "Snapshots older than what was used.", float64(r.refused)},
		{"counter", "resets_total", "Snapshots that showed an earlier state of the store, which was restored.", float64(r.resets)},
		{"counter", "write_failures_total", "Attempts to write files that failed.", float64(r.failed)},
		{"gauge", "relations", "Relations that have not ended.", float64(relations)},
		{"gauge", "relations_complete", "Relations whose data is complete.", float64(complete)},
		{"gauge", "gate_open", "1 when the start gate is open.", toFloat(!r.opened.IsZero())},
		{"gauge", "gate_wait_seconds", "How long the start gate was closed.", r.waited().Seconds()},
		{"gauge", "last_change_timestamp_seconds", "When files last changed, 0 for never.", toUnix(r.lastChange)},
	} {
		name := "orcon_agent_" + m.name
		if _, err := fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n%s %g\n", name, m.help, name, m.kind, name, m.value); err != nil {
			return err
		}
	}
	return nil
}

func toFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func toUnix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
