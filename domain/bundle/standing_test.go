package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

func TestStanding(t *testing.T) {
	healthy := bundle.Revision{Number: 3, Content: 3, State: bundle.StateSucceeded, Begun: true, Healthy: true}
	done := bundle.Next{Finished: 2, All: 2}
	tests := map[string]struct {
		why      string
		standing bundle.Standing
		// is has the conditions that are true; ready is Ready's reason, says a part of its message.
		is          []condition.Type
		ready, says string
	}{
		"New": {
			why:      "content that cannot be fetched yet may come by itself",
			standing: bundle.Standing{Stop: &bundle.Stop{Stage: bundle.Sourced, Reason: "FetchFailed", Message: "no route"}},
			is:       []condition.Type{condition.Reconciling}, ready: "FetchFailed", says: "no route",
		},
		"Kept": {
			why:      "what stands goes on while the next cannot be rendered (BUNDLES.md 1)",
			standing: bundle.Standing{Stop: &bundle.Stop{Stage: bundle.Rendered, Reason: "RenderFailed", Message: "bad template", Person: true}, Last: healthy, Next: done},
			is:       []condition.Type{condition.Stalled, bundle.Sourced, bundle.Healthy}, ready: "RenderFailed", says: "revision 3 is kept",
		},
		"Paused": {
			why:      "nobody has looked at what stands",
			standing: bundle.Standing{Stop: &bundle.Stop{Reason: "Paused", Message: "nothing is written", Person: true}, Last: healthy},
			is:       []condition.Type{condition.Stalled}, ready: "Paused", says: "revision 3 is kept",
		},
		"Unapproved": {
			why:      "who approves is a person",
			standing: bundle.Standing{Stop: &bundle.Stop{Stage: bundle.Approved, Reason: "WaitingForApproval", Message: "approve digest 1", Person: true}},
			is:       []condition.Type{condition.Stalled, bundle.Sourced, bundle.Rendered, bundle.Planned}, ready: "WaitingForApproval", says: "approve digest 1",
		},
		"UnderWay": {
			why: "what waits for what, in words",
			standing: bundle.Standing{Last: bundle.Revision{Number: 1, Content: 1, State: bundle.StateActive}, Next: bundle.Next{Finished: 1, All: 2, Waits: []bundle.Wait{
				{ID: id("Deployment web"), For: "0 of 1 pods are there"},
			}}},
			is:    []condition.Type{condition.Reconciling, bundle.Sourced, bundle.Rendered, bundle.Planned, bundle.Approved, bundle.UnderWay},
			ready: "Progressing", says: "1 of 2 objects are as they shall be; Deployment.apps shop/web waits: 0 of 1 pods are there",
		},
		"Failed": {
			why:      "there was nothing to go back to",
			standing: bundle.Standing{Last: bundle.Revision{Number: 1, Content: 1, State: bundle.StateFailed, Message: "it crashes"}},
			is:       []condition.Type{condition.Stalled, bundle.Sourced, bundle.Rendered, bundle.Planned, bundle.Approved, bundle.Degraded},
			ready:    "Failed", says: "it crashes",
		},
		"Sick": {
			why:      "what was healthy once may become so again",
			standing: bundle.Standing{Last: healthy, Next: bundle.Next{Finished: 1, All: 2, Failures: []bundle.Failure{{ID: id("Deployment web"), Why: "it crashes"}}}},
			is:       []condition.Type{condition.Reconciling, bundle.Sourced, bundle.Rendered, bundle.Planned, bundle.Approved, bundle.Degraded},
			ready:    "Degraded", says: "it crashes",
		},
		"Drifted": {
			why:      "what is only reported is no fault (BUNDLES.md 12)",
			standing: bundle.Standing{Last: healthy, Next: bundle.Next{All: 2}, Drift: []bundle.ID{id("ConfigMap a"), id("ConfigMap b")}},
			is:       []condition.Type{condition.Ready, bundle.Sourced, bundle.Rendered, bundle.Planned, bundle.Approved, bundle.Healthy},
			ready:    "Drifted", says: "ConfigMap shop/a and 1 more",
		},
		"Settled": {
			why: "all is well", standing: bundle.Standing{Last: healthy, Next: done},
			is:    []condition.Type{condition.Ready, bundle.Sourced, bundle.Rendered, bundle.Planned, bundle.Approved, bundle.Healthy},
			ready: "Healthy", says: "2 of 2 objects",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var is []condition.Type
			for _, c := range test.standing.Conditions() {
				assert.NotEmpty(t, c.Reason, c.Type)
				assert.NotEmpty(t, c.Message, c.Type)
				if c.True {
					is = append(is, c.Type)
				}
			}
			assert.Equal(t, test.is, is, test.why)
			ready, found := condition.Find(test.standing.Conditions(), condition.Ready)
			require.True(t, found)
			assert.Equal(t, test.ready, ready.Reason, test.why)
			assert.Contains(t, ready.Message, test.says, test.why)
		})
	}
}
