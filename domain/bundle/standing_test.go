package bundle_test

import (
	"strings"
	"testing"
	"time"

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
			is:       []condition.Type{condition.Stalled, bundle.Sourced, bundle.Healthy}, ready: "RenderFailed", says: "bad template; revision 3 is kept",
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
				{ID: id("Deployment web"), For: "0 of 1 pods are ready"},
			}}},
			is:    []condition.Type{condition.Reconciling, bundle.Sourced, bundle.Rendered, bundle.Planned, bundle.Approved, bundle.UnderWay},
			ready: "Progressing", says: "revision 1: 1 of 2 objects are healthy; waiting for Deployment shop/web: 0 of 1 pods are ready",
		},
		"Failed": {
			why:      "there was nothing to go back to",
			standing: bundle.Standing{Last: bundle.Revision{Number: 1, Content: 1, State: bundle.StateFailed, Message: "it crashes"}},
			is:       []condition.Type{condition.Stalled, bundle.Sourced, bundle.Rendered, bundle.Planned, bundle.Approved, bundle.Degraded},
			ready:    "Failed", says: "revision 1 failed: it crashes",
		},
		"Sick": {
			why:      "what was healthy once may become so again",
			standing: bundle.Standing{Last: healthy, Next: bundle.Next{Finished: 1, All: 2, Failures: []bundle.Failure{{ID: id("Deployment web"), Why: "it crashes"}}}},
			is:       []condition.Type{condition.Reconciling, bundle.Sourced, bundle.Rendered, bundle.Planned, bundle.Approved, bundle.Degraded},
			ready:    "Degraded", says: "it crashes",
		},
		"Changed": {
			why:      "a change that is only reported is no fault (BUNDLES.md 12)",
			standing: bundle.Standing{Last: healthy, Next: bundle.Next{All: 2}, Reported: true, Drift: []bundle.Drifted{{ID: id("ConfigMap a"), Fields: []string{"data.x"}}, {ID: id("ConfigMap b")}}},
			is:       []condition.Type{condition.Ready, bundle.Sourced, bundle.Rendered, bundle.Planned, bundle.Approved, bundle.Healthy},
			ready:    "Drifted", says: "ConfigMap shop/a was changed (data.x), and 1 more object differs; it stays so (spec.drift.mode: Report)",
		},
		"Missing": {
			why:      "a deployment without its Service is not ready, whoever may put it right",
			standing: bundle.Standing{Last: healthy, Next: bundle.Next{Finished: 1, All: 2}, Reported: true, Drift: []bundle.Drifted{{ID: id("Service a"), Deleted: true}}},
			is:       []condition.Type{condition.Stalled, bundle.Sourced, bundle.Rendered, bundle.Planned, bundle.Approved},
			ready:    "Drifted", says: "Service shop/a was deleted; it stays so",
		},
		"DriftedAndUnhealthy": {
			why: "an object that is not healthy comes before one that is only reported, and nobody must act",
			standing: bundle.Standing{Last: healthy, Next: bundle.Next{Finished: 1, All: 3, Waits: []bundle.Wait{{ID: id("Deployment web"), For: "0 of 1 pods are ready"}}},
				Reported: true, Drift: []bundle.Drifted{{ID: id("ConfigMap a"), Fields: []string{"data.x"}}}},
			is:    []condition.Type{condition.Reconciling, bundle.Sourced, bundle.Rendered, bundle.Planned, bundle.Approved},
			ready: "Unhealthy", says: "waiting for Deployment shop/web: 0 of 1 pods are ready; ConfigMap shop/a was",
		},
		"Correcting": {
			why:      "it is not ready until the change is undone",
			standing: bundle.Standing{Last: healthy, Next: bundle.Next{Finished: 1, All: 2}, Drift: []bundle.Drifted{{ID: id("Service a"), Deleted: true}}},
			is:       []condition.Type{condition.Reconciling, bundle.Sourced, bundle.Rendered, bundle.Planned, bundle.Approved},
			ready:    "Drifted", says: "Service shop/a was deleted; Orcon is correcting it",
		},
		"Settled": {
			why: "all is well", standing: bundle.Standing{Last: healthy, Next: done, Every: 2 * time.Minute},
			is:    []condition.Type{condition.Ready, bundle.Sourced, bundle.Rendered, bundle.Planned, bundle.Approved, bundle.Healthy},
			ready: "Healthy", says: "all 2 objects are up to date and healthy",
		},
		"One": {
			why: "one object is not all objects", standing: bundle.Standing{Last: healthy, Next: bundle.Next{Finished: 1, All: 1}, Every: 2 * time.Minute},
			is:    []condition.Type{condition.Ready, bundle.Sourced, bundle.Rendered, bundle.Planned, bundle.Approved, bundle.Healthy},
			ready: "Healthy", says: "1 object is up to date and healthy",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var is []condition.Type
			said := map[string]condition.Type{}
			for _, c := range test.standing.Conditions() {
				assert.NotEmpty(t, c.Reason, c.Type)
				assert.NotEmpty(t, c.Message, c.Type)
				if before, repeated := said[c.Message]; repeated && before != condition.Ready {
					assert.Contains(t, c.Message, "see condition", "%s repeats %s", c.Type, before)
				}
				said[c.Message] = c.Type
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

// Healthy tells how long a change by others may go unnoticed.
func TestHealthyTellsItsPeriod(t *testing.T) {
	s := bundle.Standing{Last: bundle.Revision{Number: 1, Content: 1, State: bundle.StateSucceeded}, Next: bundle.Next{Finished: 1, All: 1}}
	for every, want := range map[time.Duration]string{2 * time.Minute: "every 2m", 90 * time.Second: "every 1m30s", time.Second: "every 1s"} {
		s.Every = every
		c, _ := condition.Find(s.Conditions(), bundle.Healthy)
		assert.True(t, c.True)
		assert.True(t, strings.HasSuffix(c.Message, want), c.Message)
	}
}

// Healthy names what the account may not watch, and where: changes to it are found late.
func TestHealthyTellsWhatIsUnwatched(t *testing.T) {
	s := bundle.Standing{Last: bundle.Revision{Number: 1, Content: 1, State: bundle.StateSucceeded}, Next: bundle.Next{Finished: 1, All: 1}, Every: time.Minute}
	s.Unwatched = []bundle.Permission{
		{Verb: "watch", Group: "apps", Resource: "deployments", Namespace: "shop"}, {Verb: "watch", Resource: "configmaps", Namespace: "shop"},
		{Verb: "watch", Resource: "services", Namespace: "office"}, {Verb: "watch", Resource: "namespaces"},
	}
	c, _ := condition.Find(s.Conditions(), bundle.Healthy)
	assert.Equal(t, "every object is up to date and healthy; Orcon looks for changes by others every 1m; changes to namespaces, services in "+
		"namespace office, configmaps, deployments.apps in namespace shop are found only then: the account may not list and watch them", c.Message)
}

// A column shows a sentence, and the condition that it names the whole text.
func TestReadyIsShort(t *testing.T) {
	long := "cannot fetch oci://registry.example.org/shop: " + strings.Repeat("a very long answer of the registry, ", 20)
	s := bundle.Standing{Stop: &bundle.Stop{Stage: bundle.Sourced, Reason: "FetchFailed", Message: long}, Last: bundle.Revision{Number: 3, State: bundle.StateSucceeded}}
	ready, _ := condition.Find(s.Conditions(), condition.Ready)
	assert.Less(t, len(ready.Message), 190)
	assert.Contains(t, ready.Message, "… (see condition Sourced); revision 3 is kept")
	sourced, _ := condition.Find(s.Conditions(), bundle.Sourced)
	assert.Equal(t, long, sourced.Message)
	_, details := s.Summary()
	assert.Contains(t, details, long)

	s.Stop.Stage = ""
	ready, _ = condition.Find(s.Conditions(), condition.Ready)
	assert.Contains(t, ready.Message, "… (see condition Reconciling)", "what no stage has is there")
	s.Stop.Person = true
	ready, _ = condition.Find(s.Conditions(), condition.Ready)
	assert.Contains(t, ready.Message, "… (see condition Stalled)", "or there, if a person must act")
	s.Stop.Person = false
	stalled, _ := condition.Find(s.Conditions(), condition.Reconciling)
	assert.Equal(t, long+"; revision 3 is kept", stalled.Message, "no other condition has it")
}
