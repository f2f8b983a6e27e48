package negotiation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// An application is ready when its data is complete and no pod lacks it; what else is wrong is named beside that.
func TestSettled(t *testing.T) {
	of := func(types ...condition.Type) (all []condition.Condition) {
		for _, one := range types {
			all = append(all, condition.New(one, true, "Why", "because"))
		}
		return all
	}
	tests := map[string]struct {
		why        string
		others     []condition.Condition
		unanswered *relation.Obstacle
		ready      bool
		reason     string
		text       string
	}{
		"Well":       {why: "all is there", ready: true, reason: relation.ReasonComplete, text: "every required relation is complete"},
		"Unanswered": {why: "an optional reference leads nowhere", unanswered: &relation.Obstacle{Reason: relation.ReasonNoMatch, Message: "cash is not there"}, ready: true, reason: relation.ReasonNoMatch, text: "but cash is not there"},
		"Held":       {why: "it works, but see there", others: of(condition.Held, condition.EndsOwed), ready: true, reason: string(condition.Held), text: "see condition Held, EndsOwed"},
		"Handler":    {why: "its work is not done", others: of(condition.Held, condition.HandlerFailed), reason: string(condition.HandlerFailed), text: "see condition HandlerFailed"},
		"NoAgent":    {why: "a pod has no data", others: of(condition.NotInjected), reason: string(condition.NotInjected), text: "see condition NotInjected"},
		"Agent":      {why: "so has one whose agent fails", others: of(condition.AgentFailed), reason: string(condition.AgentFailed), text: "see condition AgentFailed"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ready, found := condition.Find(settled(tc.others, tc.unanswered), condition.Ready)
			require.True(t, found)
			assert.Equal(t, tc.ready, ready.True, tc.why)
			assert.Equal(t, tc.reason, ready.Reason, tc.why)
			assert.Contains(t, ready.Message, tc.text, tc.why)
		})
	}
}

// Only a Service that waits for its pods becomes an application by itself.
func TestNotYet(t *testing.T) {
	waits, wrong := application.Fault{Reason: application.ReasonNoPods, Message: "no pods"}, application.Fault{Reason: "Twice", Message: "two of them"}
	ready, _ := condition.Find(notYet([]application.Fault{waits}), condition.Ready)
	assert.Equal(t, application.ReasonNoPods, ready.Reason)
	stuck := notYet([]application.Fault{waits, wrong})
	ready, _ = condition.Find(stuck, condition.Ready)
	assert.Equal(t, "Twice", ready.Reason)
	assert.True(t, condition.Blocked(stuck), "a person has to mend it")
}
