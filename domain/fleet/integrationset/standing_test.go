package integrationset

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

func TestConditions(t *testing.T) {
	result := func(s Situation) Result { return Result{Situation: s, Decision: Decide(s)} }
	one := []Wanted{wants("a", "1", 0)}
	sick := stands("a", "1", Stalled)
	sick.Why = "no image"
	planned := stands("a", "1", Stalled)
	planned.Name, planned.Plan = "fleet-a", "d"
	faulty := func(r Result) Result { r.Faults = []string{"x.yml:3: bad", "y.yml:1: bad"}; return r }
	for reason, c := range map[string]struct {
		result  Result
		message string
	}{
		Paused:            {Result{Stop: &Stop{Reason: Paused, Message: "paused", Person: true}}, "paused"},
		DryRun:            {Result{Stop: &Stop{Reason: DryRun, Message: "only plans", Person: true}}, "only plans"},
		Rival:             {Result{Stop: Self{}.Rival("tools", map[string]string{"Deployment a": "other"})}, "Deployment a in namespace tools"},
		Fetching:          {Result{Stop: &Stop{Reason: Fetching, Message: "still"}}, "still"},
		reasonNothing:     {result(Situation{}), "no entry fits spec.environments"},
		FetchFailed:       {Result{Stale: "no answer", Situation: Situation{Wanted: one}}, "no answer; members go on"},
		reasonReady:       {result(Situation{Wanted: one, Standing: []Standing{stands("a", "1", Ready)}}), "members ready: 1 of 1"},
		reasonProgressing: {result(Situation{Wanted: one, Standing: []Standing{stands("a", "1", UnderWay)}}), "members ready: 0 of 1"},
		reasonConflict: {
			result(Situation{Wanted: one, Standing: []Standing{theirs("a", false)}}), "a in /ns/prod.yml: IntegrationSet other has this member",
		},
		reasonDeleting: {
			result(Situation{Ending: true, Guard: Guard{1, 100}, Standing: []Standing{stands("a", "1", Ready)}}), "members that are being deleted: 1",
		},
		reasonApproval: {Result{Situation: Situation{Wanted: one, Standing: []Standing{planned}}, Approve: "orcon fleet approve x"},
			"plans that wait for approval: 1. To approve them: orcon fleet approve x"},
		reasonStalled: {result(Situation{Wanted: one, Standing: []Standing{sick}}), "a in /ns/prod.yml: no image"},
		reasonHeld:    {result(Situation{Standing: []Standing{stands("a", "1", Ready)}}), "1 of 1 workloads would go: the data declare nothing"},
		reasonFaulty: {
			faulty(result(Situation{Wanted: one, Standing: []Standing{stands("a", "1", Ready)}})),
			"x.yml:3: bad; what depends on it stays as it is (and 1 more: see status.faults)",
		},
	} {
		t.Run(reason, func(t *testing.T) {
			conditions := c.result.Conditions()
			why := condition.Why(conditions)
			assert.Equal(t, reason, why.Reason)
			assert.Contains(t, why.Message, c.message)
			assert.True(t, slices.ContainsFunc(Meanings(), func(m condition.Meaning) bool {
				said, _ := condition.Find(conditions, m.Type)
				return m.Reason == reason && said.True
			}), "the reference explains it with the condition that is true")
		})
	}
}

// A set says what its members that are not ready wait for, each once.
func TestUnready(t *testing.T) {
	member := func(name string, s State, why string) Standing {
		m := stands(name, "1", s)
		m.Why = why
		return m
	}
	r := Result{Situation: Situation{Wanted: []Wanted{wants("a", "1", 0), wants("b", "1", 0), wants("c", "1", 0), wants("d", "1", 0)}, Standing: []Standing{
		member("d", UnderWay, "a Secret is missing"), member("b", Stalled, "no image"), member("c", Ready, "every object is healthy"), member("a", UnderWay, ""),
	}}}
	r.Waits = []Wait{{Key: stands("b", "1", Stalled).Key, Why: "waits for the wave before"}}
	var got []string
	for _, w := range r.Unready() {
		got = append(got, w.Integration+": "+w.Why)
	}
	assert.Equal(t, []string{"b: waits for the wave before", "d: a Secret is missing"}, got)
	r.Waits = nil
	r.Standing = slices.Delete(r.Standing, 1, 2)
	assert.Equal(t, "members ready: 1 of 4; d in /ns/prod.yml: a Secret is missing", condition.Why(r.Conditions()).Message)
}

func TestName(t *testing.T) {
	for _, c := range []struct {
		set, integration, prefix string
	}{
		{"fleet", "terraform-resources", "fleet-terraform-resources-"},
		{"fleet", "", "shared-"},
		{"fleet", "Odd_Name.x", "fleet-odd-name-x-"},
		{"fleet", strings.Repeat("long-", 20), "fleet-long-long-long-long-long-long-long-lo-"},
	} {
		name := Name(c.set, Key{c.integration, "/ns/prod.yml"})
		assert.Equal(t, c.prefix, name[:len(name)-8])
		assert.LessOrEqual(t, len(name), 52)
		assert.NotEqual(t, name, Name(c.set, Key{c.integration, "/ns/stage.yml"}))
		assert.True(t, Named(Name("before", Key{c.integration, "/ns/prod.yml"}), Key{c.integration, "/ns/prod.yml"}), "by another set")
		assert.False(t, Named(name, Key{c.integration, "/ns/stage.yml"}))
	}
}
