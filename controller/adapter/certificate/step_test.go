package certificate

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// start is when every test's clock begins.
func start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

func root(t testing.TB, now time.Time) *Root {
	t.Helper()
	r, err := NewRoot(now, DefaultPeriods())
	require.NoError(t, err)
	return r
}

func TestNext(t *testing.T) {
	p := DefaultPeriods()
	now := start()
	fresh := root(t, now)
	due := root(t, now.Add(-p.Authority*2/3))
	late := root(t, now.Add(-p.Authority*5/6))
	expired := root(t, now.Add(-p.Authority))
	old := []*x509.Certificate{due.Certificate}
	tests := map[string]struct {
		why  string
		in   State
		want Step
		wait time.Duration
	}{
		"Nothing":        {why: "the first authority is made at once", want: StepCreate},
		"Expired":        {why: "no leaf of an expired authority verifies, so nothing is gained by waiting", in: State{Current: expired}, want: StepCreate},
		"ExpiredBoth":    {why: "the controller was away for longer than an authority lives", in: State{Current: expired, Next: expired}, want: StepCreate},
		"ExpiredCurrent": {why: "the next is trusted at least by some; the present by nobody", in: State{Current: expired, Next: fresh}, want: StepPromote},
		"LostCurrent":    {why: "somebody broke tls.key; the next can sign", in: State{Next: fresh}, want: StepPromote},
		"Serving":        {why: "nothing is due before the last third", in: State{Current: fresh}, wait: p.Authority * 2 / 3},
		"Due":            {why: "the last third has begun", in: State{Current: due}, want: StepAnnounce},
		"NotEverywhere":  {why: "a leaf of the next would not verify in the place that lacks the bundle", in: State{Current: due, Next: fresh}, wait: soon},
		"Everywhere":     {why: "the delay counts from here", in: State{Current: due, Next: fresh, Everywhere: true}, want: StepStamp},
		"Refused":        {why: "one place that refuses must not let the authority of all expire", in: State{Current: late, Next: fresh}, want: StepStamp},
		"Propagating":    {why: "kubelets refresh ConfigMaps late", in: State{Current: due, Next: fresh, Published: now.Add(-time.Minute)}, wait: p.Propagation - time.Minute},
		"Propagated":     {why: "everybody trusts the next", in: State{Current: due, Next: fresh, Published: now.Add(-p.Propagation)}, want: StepPromote},
		"StillInUse":     {why: "a replica may still show a leaf of the old", in: State{Current: fresh, Old: old, Promoted: now}, wait: p.Leaf + p.Skew},
		"OutOfUse":       {why: "no leaf of the old is alive", in: State{Current: fresh, Old: old, Promoted: now.Add(-p.Leaf - p.Skew)}, want: StepRetire},
		"NoMoment":       {why: "somebody removed the annotation: wait again from now", in: State{Current: fresh, Old: old}, want: StepStamp},
		"DueWhileOld":    {why: "one rotation at a time", in: State{Current: due, Old: old, Promoted: now}, wait: p.Leaf + p.Skew},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			step, wait := Next(tc.in, now, p)
			assert.Equal(t, tc.want, step, tc.why)
			assert.Equal(t, tc.wait, wait, tc.why)
		})
	}
}

func TestAfter(t *testing.T) {
	now := start()
	a, b, c := root(t, now), root(t, now), root(t, now)
	gone := root(t, now.Add(-2*DefaultPeriods().Authority))
	tests := map[string]struct {
		why  string
		in   State
		step Step
		want State
	}{
		"Wait":     {why: "nothing", in: State{Current: a}, want: State{Current: a}},
		"Create":   {why: "nobody was trusted before", step: StepCreate, want: State{Current: c}},
		"Recreate": {why: "leaves of a lost authority are in use; those of an expired one are not", in: State{Old: []*x509.Certificate{a.Certificate, gone.Certificate}}, step: StepCreate, want: State{Current: c, Old: []*x509.Certificate{a.Certificate}, Promoted: now}},
		"Announce": {why: "a moment of an earlier rotation does not count", in: State{Current: a, Published: now}, step: StepAnnounce, want: State{Current: a, Next: c}},
		"Stamp":    {why: "publication", in: State{Current: a, Next: b, Everywhere: true}, step: StepStamp, want: State{Current: a, Next: b, Published: now}},
		"StampOld": {why: "promotion", in: State{Current: a, Old: []*x509.Certificate{b.Certificate}}, step: StepStamp, want: State{Current: a, Old: []*x509.Certificate{b.Certificate}, Promoted: now}},
		"Promote":  {why: "the old stays trusted", in: State{Current: a, Next: b, Published: now}, step: StepPromote, want: State{Current: b, Old: []*x509.Certificate{a.Certificate}, Promoted: now}},
		"Retire":   {why: "one authority is left", in: State{Current: b, Old: []*x509.Certificate{a.Certificate}, Promoted: now}, step: StepRetire, want: State{Current: b}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, tc.in.After(tc.step, now, c), tc.why)
		})
	}
}

// A promotion changes who signs and not who is trusted: nothing is published
// anew, and nobody can be late.
func TestPromotionKeepsTheBundle(t *testing.T) {
	now := start()
	announced := State{Current: root(t, now), Next: root(t, now.Add(time.Hour))}
	promoted := announced.After(StepPromote, now, nil)
	assert.Equal(t, string(announced.Bundle()), string(promoted.Bundle()))
	assert.Len(t, ParseBundle(promoted.Bundle()), 2)
}

func TestPeriods(t *testing.T) {
	tests := map[string]struct {
		why string
		in  Periods
		ok  bool
	}{
		"Default":  {why: "must work", in: DefaultPeriods(), ok: true},
		"Tight":    {why: "exactly fits", in: Periods{Authority: 6, Leaf: 2, Propagation: 1}, ok: true},
		"TooShort": {why: "the authority would expire during its rotation", in: Periods{Authority: 11, Leaf: 1, Propagation: 1, Skew: 1}},
		"LongLeaf": {why: "a leaf that outlives the authority's last third", in: Periods{Authority: 11, Leaf: 4}},
		"NoLeaf":   {why: "a leaf that never lives", in: Periods{Authority: 11}},
		"Negative": {why: "time does not run backwards", in: Periods{Authority: 100, Leaf: 1, Propagation: -1}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.ok {
				assert.NoError(t, tc.in.Validate(), tc.why)
				return
			}
			assert.ErrorIs(t, tc.in.Validate(), ErrPeriods, tc.why)
		})
	}
}
