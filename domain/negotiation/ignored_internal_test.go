package negotiation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// An object that declares something and is ignored is named, but for a Service that has just come before its workload.
func TestIgnore(t *testing.T) {
	fault := func(reason string, age time.Duration) application.Fault {
		return application.Fault{Application: "db", Reason: reason, Message: "Service db", Created: at().Add(-age)}
	}
	tests := map[string]struct {
		why   string
		fault application.Fault
		named bool
		wake  time.Duration
	}{
		"Wrong":     {why: "only a person can mend it", fault: fault("Twice", 0), named: true},
		"NoPods":    {why: "its workload may follow", fault: fault(application.ReasonNoPods, 9*time.Second), wake: time.Second},
		"NoPodsYet": {why: "it has not followed", fault: fault(application.ReasonNoPods, 10*time.Second), named: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			is := ignore(index(relation.Snapshot{Namespace: "shop", Now: at(), Orphans: []application.Fault{tc.fault}}))
			assert.Equal(t, tc.named, len(is.faults["db"]) == 1, tc.why)
			assert.Equal(t, tc.named, len(leftOutOf(is.faults["db"])) == 1, tc.why)
			if tc.wake > 0 {
				assert.Equal(t, at().Add(tc.wake), is.wake, tc.why)
			} else {
				assert.Zero(t, is.wake, tc.why)
			}
		})
	}
}

// However many objects an application ignores, its record is an object that Kubernetes stores (SAFETY.md A1, TRUST.md U5).
func TestManyIgnored(t *testing.T) {
	fault := application.Fault{Application: "db", Reason: application.ReasonNameTaken, Message: strings.Repeat("x", 100)}
	for i := range 64 {
		fault.Pods = append(fault.Pods, fmt.Sprintf("%063d", i))
	}
	s := relation.Snapshot{Namespace: "shop", Now: at()}
	for i := range 500 {
		fault.Object = fmt.Sprintf("Deployment/worker-%d", i)
		s.Orphans = append(s.Orphans, fault)
	}
	decisions, _ := Negotiate(s)
	require.Len(t, decisions, 1)
	is := decisions[0].(relation.Remember).State
	text, err := json.Marshal(is)
	require.NoError(t, err)
	assert.Less(t, len(text), 1<<20)
	left, _ := condition.Find(is.Conditions, condition.LeftOut)
	assert.Contains(t, left.Message, "and 480 more", "all are counted")
}

// An ignored object's message fits its field, however long the names in it are (TRUST.md U5).
func TestIgnoredMessagesAreCut(t *testing.T) {
	fault := application.Fault{Object: "Deployment/worker", Application: "db", Reason: application.ReasonNameTaken, Message: strings.Repeat("ü", condition.MaxEntry)}
	is := ignore(index(relation.Snapshot{Namespace: "shop", Now: at(), Orphans: []application.Fault{fault}}))
	require.Len(t, is.faults["db"], 1)
	assert.LessOrEqual(t, len(is.faults["db"][0].Message), condition.MaxEntry)
	assert.True(t, strings.HasSuffix(is.faults["db"][0].Message, "ü…"), "no character is cut in two")
}
