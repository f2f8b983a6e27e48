package bundle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// An object without evidence counts as healthy once its deadline has passed, and condition
// HealthAssumed names it with the probe to write (CONTENT.md H5).
func TestAssumption(t *testing.T) {
	p := draft(t, nil, nil, object("ConfigMap a"), object("ConfigMap b"))
	live := map[bundle.ID]bundle.Live{}
	for _, item := range p.Sequence {
		live[item.ID] = applied(item, func(l *bundle.Live) {
			l.Health, l.Says, l.Since = bundle.Unknown, "reports nothing", noon().Add(-time.Minute)
		})
	}
	next := bundle.Step(p, bundle.Record{}, live, bundle.Pace{Now: noon(), Deadline: 2 * time.Minute})
	assert.Empty(t, next.Assumed, "there is time")
	next = bundle.Step(p, bundle.Record{}, live, bundle.Pace{Now: noon(), Deadline: time.Minute})
	assert.Len(t, next.Assumed, 2)
	next = bundle.Correct(p, bundle.Record{}, live, bundle.Pace{Now: noon(), Deadline: time.Hour})
	assert.Len(t, next.Assumed, 2, "a revision that has succeeded goes on as it was")
	assert.Equal(t, bundle.Succeeded, next.Outcome)

	s := bundle.Standing{Last: bundle.Revision{Number: 1, State: bundle.StateSucceeded}, Next: next}
	c, found := condition.Find(s.Conditions(), bundle.HealthAssumed)
	require.True(t, found)
	assert.True(t, c.True)
	assert.Equal(t, "ConfigMap shop/a counts as healthy without a sign of it: it reports nothing; to have it judged, add to "+
		"spec.healthChecks {kind: ConfigMap, ready: an expression over object.status}; and 1 more object", c.Message)
	s.Next.Assumed = nil
	_, found = condition.Find(s.Conditions(), bundle.HealthAssumed)
	assert.False(t, found)
}

// A failure of an object that was healthy is shown at once (CONTENT.md H5).
func TestFailingIsShown(t *testing.T) {
	p := draft(t, nil, nil, object("ConfigMap a"))
	item := p.Sequence[0]
	live := map[bundle.ID]bundle.Live{item.ID: applied(item, func(l *bundle.Live) { l.Health, l.Says = bundle.Failing, "quota exceeded" })}
	next := bundle.Correct(p, bundle.Record{}, live, bundle.Pace{Now: noon()})
	require.Len(t, next.Failures, 1)
	assert.Equal(t, "quota exceeded", next.Failures[0].Why)
}
