package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// explained reports whether the reference explains a condition. Ready, and that of Reconciling
// and Stalled which is true, repeat the reason of another.
func explained(c condition.Condition) bool {
	for _, m := range bundle.Meanings() {
		if m.Reason == c.Reason && (m.Type == c.Type || c.Type == condition.Ready || c.True) {
			return true
		}
	}
	return false
}

func TestMeaningsAreComplete(t *testing.T) {
	revision := func(state bundle.State) bundle.Revision { return bundle.Revision{Number: 2, State: state} }
	lost := []bundle.Drifted{{ID: id("Service web"), Deleted: true}}
	all := []bundle.Standing{
		{Last: revision(bundle.StateActive), Next: bundle.Next{All: 2}}, {Last: revision(bundle.StateFailed), Next: bundle.Next{All: 2}},
		{Last: revision(bundle.StateSucceeded), Next: bundle.Next{All: 2}}, {Last: revision(bundle.StateSucceeded), Next: bundle.Next{All: 2, Finished: 2}},
		{Last: revision(bundle.StateSucceeded), Next: bundle.Next{All: 2, Finished: 1}, Drift: lost},
		{Last: revision(bundle.StateSucceeded), Next: bundle.Next{All: 2, Finished: 1}, Drift: lost, Reported: true},
		{Last: revision(bundle.StateSucceeded), Next: bundle.Next{All: 2, Finished: 1, Failures: []bundle.Failure{{ID: id("Service web"), Why: "x"}}}},
	}
	for _, m := range bundle.Meanings() {
		assert.NotEmpty(t, m.Means, m.Reason)
		stop := bundle.Stop{Stage: m.Type, Reason: m.Reason, Message: "x"}
		if m.Type == condition.Stalled || m.Type == condition.Reconciling {
			stop.Stage = ""
		}
		all = append(all, bundle.Standing{Stop: &stop, Last: revision(bundle.StateSucceeded), Next: bundle.Next{All: 1, Finished: 1}})
	}
	for _, s := range all {
		for _, c := range s.Conditions() {
			assert.True(t, explained(c), "%s %t %s", c.Type, c.True, c.Reason)
		}
	}
}

func TestMeaningsAreDistinct(t *testing.T) {
	known := map[string]bool{}
	for _, m := range bundle.Meanings() {
		assert.False(t, known[string(m.Type)+m.Reason], "%s %s", m.Type, m.Reason)
		known[string(m.Type)+m.Reason] = true
	}
}
