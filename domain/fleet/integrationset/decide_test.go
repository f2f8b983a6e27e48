package integrationset

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// guard lets a single workload of ten go.
func guard() Guard { return Guard{Workloads: 1, Percent: 10} }

func key(integration string) Key { return Key{integration, "/ns/prod.yml"} }

func wants(integration, digest string, wave int) Wanted {
	return Wanted{Key: key(integration), Digest: digest, Workloads: 1, Wave: wave}
}

func stands(integration, digest string, state State) Standing {
	return Standing{Key: key(integration), Digest: digest, Workloads: 1, State: state}
}

// theirs is a member of another set.
func theirs(integration string, claimed bool) Standing {
	m := stands(integration, "1", Ready)
	m.Set, m.Claimed = "other", claimed
	return m
}

// crowd returns members that are as declared, so that a share of them is small.
func crowd(n int) (wanted []Wanted, standing []Standing) {
	for i := range n {
		name := fmt.Sprintf("crowd-%02d", i)
		wanted = append(wanted, wants(name, "1", 0))
		standing = append(standing, stands(name, "1", Ready))
	}
	return wanted, standing
}

func TestDecide(t *testing.T) {
	many := func(w Wanted, workloads int) Wanted { w.Workloads = workloads; return w }
	of := func(s Standing, workloads int) Standing { s.Workloads = workloads; return s }
	claimed := func(s Standing) Standing { s.Claims = []string{"other"}; return s }
	ending := func(s Standing) Standing { s.Ending = true; return s }
	own := func(s Standing) Standing { s.Own = true; return s }
	self := func(w Wanted) Wanted { w.Own = true; return w }
	unknown := func(w Wanted) Wanted { w.Waits = "still looking up its image"; return w }
	for name, c := range map[string]struct {
		// crowd counts the other members, which stand as declared.
		crowd    int
		wanted   []Wanted
		standing []Standing
		change   func(*Situation)
		steps    []Step
		// waits are the parts of the reasons, by member.
		waits map[string]string
	}{
		"Settled":  {wanted: []Wanted{wants("a", "1", 0)}, standing: []Standing{stands("a", "1", Ready)}},
		"New":      {wanted: []Wanted{wants("a", "1", 0)}, steps: []Step{{Create, key("a")}}},
		"Changed":  {wanted: []Wanted{wants("a", "2", 0)}, standing: []Standing{stands("a", "1", Ready)}, steps: []Step{{Update, key("a")}}},
		"Stalled":  {wanted: []Wanted{wants("a", "1", 0)}, standing: []Standing{stands("a", "1", Stalled)}},
		"Gone":     {crowd: 10, standing: []Standing{stands("z", "1", Ready)}, steps: []Step{{Delete, key("z")}}},
		"GoneSick": {crowd: 10, standing: []Standing{stands("z", "1", Stalled)}, steps: []Step{{Delete, key("z")}}},
		"Empty": {
			standing: []Standing{stands("z", "1", Ready)}, change: func(s *Situation) { s.Guard = Guard{Workloads: 100, Percent: 100} },
			waits: map[string]string{"z": "the data declare nothing for this set"},
		},
		"SetEnds": {
			standing: []Standing{stands("y", "1", Ready), stands("z", "1", Ready)},
			change:   func(s *Situation) { s.Ending, s.Guard = true, Guard{Workloads: 2, Percent: 100} },
			steps:    []Step{{Delete, key("y")}, {Delete, key("z")}},
		},
		"SetEndsPastItsGuard": {
			standing: []Standing{stands("y", "1", Ready), stands("z", "1", Ready)},
			change:   func(s *Situation) { s.Ending = true },
			waits:    map[string]string{"y": "2 of 2 workloads would go: no more than 1 may go at once", "z": "2 of 2"},
		},
		"TooMany": {
			crowd: 50, standing: []Standing{stands("y", "1", Ready), stands("z", "1", Ready)},
			waits: map[string]string{"y": "2 of 52 workloads would go: no more than 1 may go at once; confirm ", "z": "2 of 52"},
		},
		"TooLargeAShare": {
			crowd: 8, standing: []Standing{stands("z", "1", Ready)}, waits: map[string]string{"z": "1 of 9 workloads would go: no more than 10%"},
		},
		"AsLargeAShareAsMayBe": {crowd: 9, standing: []Standing{stands("z", "1", Ready)}, steps: []Step{{Delete, key("z")}}},
		"Confirmed": {
			standing: []Standing{stands("z", "1", Ready)}, change: func(s *Situation) { s.Confirmed = map[Key]int{key("z"): 1, key("y"): 1} },
			steps: []Step{{Delete, key("z")}},
		},
		"ConfirmedLess": {
			standing: []Standing{of(stands("z", "1", Ready), 2)}, change: func(s *Situation) { s.Confirmed = map[Key]int{key("z"): 1} },
			waits: map[string]string{"z": "2 of 2"},
		},
		"ConfirmedOthers": {
			standing: []Standing{stands("y", "1", Ready), stands("z", "1", Ready)},
			change:   func(s *Situation) { s.Confirmed = map[Key]int{key("z"): 1} },
			waits:    map[string]string{"y": "2 of 2", "z": "2 of 2"},
		},
		"FewerShards": {
			crowd: 20, wanted: []Wanted{many(wants("z", "2", 0), 3)}, standing: []Standing{of(stands("z", "1", Ready), 5)},
			waits: map[string]string{"z": "2 of 25 workloads would go"},
		},
		"FewerShardsBesideAnother": {
			crowd: 20, wanted: []Wanted{many(wants("z", "2", 0), 3), wants("y", "2", 0)},
			standing: []Standing{of(stands("z", "1", Ready), 5), stands("y", "1", Ready)},
			steps:    []Step{{Update, key("y")}}, waits: map[string]string{"z": "2 of 26 workloads would go"},
		},
		"WithoutReplicas": {
			crowd: 8, wanted: []Wanted{many(wants("z", "2", 0), 0)}, standing: []Standing{stands("z", "1", Ready)},
			waits: map[string]string{"z": "1 of 9 workloads would go"},
		},
		"AGoneMemberWithoutWorkloads": {crowd: 1, standing: []Standing{of(stands("z", "1", Ready), 0)}, steps: []Step{{Delete, key("z")}}},
		"Ending": {
			crowd: 1, standing: []Standing{ending(stands("z", "1", Ready))}, waits: map[string]string{"z": "is being deleted"},
		},
		"EndingAndWanted": {
			wanted: []Wanted{wants("z", "1", 0)}, standing: []Standing{ending(stands("z", "1", Ready))},
			waits: map[string]string{"z": "waits for the end"},
		},
		"Waves": {
			wanted: []Wanted{wants("b", "1", 0), wants("a", "1", 1)}, steps: []Step{{Create, key("b")}},
			waits: map[string]string{"a": "waits for b in /ns/prod.yml of wave 1"},
		},
		"WaveUnderWay": {
			wanted: []Wanted{wants("b", "2", 0), wants("a", "2", 1)}, standing: []Standing{stands("b", "2", UnderWay), stands("a", "1", Ready)},
			waits: map[string]string{"a": "waits for b"},
		},
		"WaveFailed": {
			wanted: []Wanted{wants("b", "2", 0), wants("a", "2", 1)}, standing: []Standing{stands("b", "2", Stalled), stands("a", "1", Ready)},
			waits: map[string]string{"a": "waits for b"},
		},
		"WaveDone": {
			wanted: []Wanted{wants("b", "2", 0), wants("a", "2", 1)}, standing: []Standing{stands("b", "2", Ready), stands("a", "1", Ready)},
			steps: []Step{{Update, key("a")}},
		},
		"SettledLaterWave": {
			wanted: []Wanted{wants("b", "2", 0), wants("a", "1", 1)}, standing: []Standing{stands("b", "1", Ready), stands("a", "1", Ready)},
			steps: []Step{{Update, key("b")}},
		},
		"Unknown": {
			wanted:   []Wanted{unknown(wants("a", "2", 0)), wants("b", "1", 0), wants("c", "2", 1), wants("d", "1", 1)},
			standing: []Standing{stands("d", "1", Ready)},
			steps:    []Step{{Create, key("b")}},
			waits:    map[string]string{"a": "still looking up its image", "c": "waits for a in /ns/prod.yml of wave 1"},
		},
		"UnknownStays": {
			crowd: 1, wanted: []Wanted{many(unknown(wants("a", "2", 0)), 0)}, standing: []Standing{stands("a", "1", Ready)},
			waits: map[string]string{"a": "still looking up its image"},
		},
		"UnknownOfAnother": {
			wanted: []Wanted{unknown(wants("a", "2", 0))}, standing: []Standing{theirs("a", false)}, waits: map[string]string{"a": "still looking up"},
		},
		"FailureOfOneInAWave": {
			wanted: []Wanted{wants("a", "2", 0), wants("b", "2", 0)}, standing: []Standing{stands("a", "2", Stalled), stands("b", "1", Ready)},
			steps: []Step{{Update, key("b")}},
		},
		"AtMostOneUnavailable": {
			wanted: []Wanted{wants("a", "1", 0), wants("b", "1", 0)}, change: func(s *Situation) { s.MaxUnavailable = 1 },
			steps: []Step{{Create, key("a")}}, waits: map[string]string{"b": "fewer than 1"},
		},
		"SharedByAnother":  {wanted: []Wanted{wants("", "1", 0)}, standing: []Standing{theirs("", false)}, steps: []Step{{Claim, key("")}}},
		"SharedAndClaimed": {wanted: []Wanted{wants("", "1", 0)}, standing: []Standing{theirs("", true)}},
		"SharedOtherwise": {
			wanted: []Wanted{wants("", "2", 0)}, standing: []Standing{theirs("", true)},
			waits: map[string]string{"": "IntegrationSet other makes it otherwise"},
		},
		"SharedBeforeAWave": {
			wanted: []Wanted{wants("", "1", 0), wants("a", "1", 1)}, standing: []Standing{theirs("", false)},
			steps: []Step{{Claim, key("")}}, waits: map[string]string{"a": "waits for what the namespace shares"},
		},
		"TakenByAnother": {
			wanted: []Wanted{wants("a", "1", 0)}, standing: []Standing{theirs("a", false)},
			steps: []Step{{Claim, key("a")}}, waits: map[string]string{"a": "IntegrationSet other has this member"},
		},
		"ClaimedByAnother": {
			wanted: []Wanted{wants("a", "1", 0)}, standing: []Standing{claimed(stands("a", "1", Ready))},
			waits: map[string]string{"a": "IntegrationSet other wants this member too"},
		},
		"SharedWithAnother": {wanted: []Wanted{wants("", "1", 0)}, standing: []Standing{claimed(stands("", "1", Ready))}},
		"GoneAndClaimed":    {standing: []Standing{claimed(stands("z", "1", Ready))}, steps: []Step{{HandOver, key("z")}}},
		"EndingAndClaimed": {
			standing: []Standing{ending(claimed(stands("z", "1", Ready)))}, waits: map[string]string{"z": "is being deleted"},
		},
		"NoLongerClaimed": {standing: []Standing{theirs("z", true)}, steps: []Step{{Withdraw, key("z")}}},
		"OfAnother":       {standing: []Standing{theirs("z", false)}},
		"OthersCountForNoShare": {
			crowd: 8, standing: []Standing{stands("z", "1", Ready), theirs("x", false), theirs("y", false)},
			waits: map[string]string{"z": "1 of 9 workloads would go: no more than 10%"},
		},
		"AsDeclaredLosesNothing": {
			wanted: []Wanted{many(wants("z", "1", 0), 0)}, standing: []Standing{stands("z", "1", Ready)},
		},
		"OwnGone": {
			crowd: 50, standing: []Standing{own(stands("z", "1", Ready))}, waits: map[string]string{"z": "z in /ns/prod.yml runs this controller itself"},
		},
		"OwnGoneWithARoomyGuard": {
			standing: []Standing{own(stands("z", "1", Ready))}, wanted: []Wanted{wants("a", "1", 0)},
			change: func(s *Situation) { s.Guard = Guard{Workloads: 100, Percent: 100} },
			steps:  []Step{{Create, key("a")}}, waits: map[string]string{"z": "runs this controller itself"},
		},
		"OwnGoneWithoutWorkloads": {
			crowd: 1, standing: []Standing{own(of(stands("z", "1", Ready), 0))}, waits: map[string]string{"z": "runs this controller itself"},
		},
		"OwnWithoutReplicas": {
			crowd: 50, wanted: []Wanted{many(self(wants("z", "2", 0)), 0)}, standing: []Standing{own(stands("z", "1", Ready))},
			waits: map[string]string{"z": "runs this controller itself"},
		},
		"OwnMovesToAnotherNamespace": {
			crowd: 50, wanted: []Wanted{wants("z", "2", 0)}, standing: []Standing{own(stands("z", "1", Ready))},
			waits: map[string]string{"z": "1 of 51 workloads would go: z in /ns/prod.yml runs this controller itself"},
		},
		"OwnChanges": {
			wanted: []Wanted{self(wants("z", "2", 0))}, standing: []Standing{own(stands("z", "1", Ready))}, steps: []Step{{Update, key("z")}},
		},
		"OwnAndASetThatEnds": {
			standing: []Standing{own(stands("z", "1", Ready))},
			change:   func(s *Situation) { s.Ending, s.Guard = true, Guard{Workloads: 100, Percent: 100} },
			waits:    map[string]string{"z": "runs this controller itself"},
		},
		"OwnClaimedByAnother": {crowd: 1, standing: []Standing{own(claimed(stands("z", "1", Ready)))}, steps: []Step{{HandOver, key("z")}}},
		"OwnConfirmed": {
			crowd: 50, standing: []Standing{own(stands("z", "1", Ready))}, change: func(s *Situation) { s.Confirmed = map[Key]int{key("z"): 1} },
			steps: []Step{{Delete, key("z")}},
		},
		"OwnOfAnotherSet": {crowd: 1, standing: []Standing{own(theirs("z", false))}},
		"OwnHoldsOthers": {
			crowd: 50, standing: []Standing{own(stands("z", "1", Ready)), stands("y", "1", Ready)},
			waits: map[string]string{"z": "runs this controller itself", "y": "2 of 52"},
		},
		"SickFirst": {
			wanted:   []Wanted{wants("a", "2", 0), wants("b", "2", 0)},
			standing: []Standing{stands("a", "1", Ready), stands("b", "1", Stalled)},
			change:   func(s *Situation) { s.MaxUnavailable = 1 },
			steps:    []Step{{Update, key("b")}}, waits: map[string]string{"a": "fewer than 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := Situation{Guard: guard()}
			s.Wanted, s.Standing = crowd(c.crowd)
			s.Wanted, s.Standing = append(s.Wanted, c.wanted...), append(s.Standing, c.standing...)
			if c.change != nil {
				c.change(&s)
			}
			d := Decide(s)
			assert.Equal(t, c.steps, d.Steps)
			assert.Len(t, d.Waits, len(c.waits))
			assert.False(t, d.Removal != nil && len(c.waits) == 0, "a removal without a member that waits")
			for _, w := range d.Waits {
				assert.NotEmpty(t, c.waits[w.Integration], w.Key)
				assert.Contains(t, w.Why, c.waits[w.Integration])
			}
		})
	}
}

// A removal of the controller's own member names the command that confirms it.
func TestRemovalCommand(t *testing.T) {
	m := stands("a", "1", Ready)
	m.Own = true
	r := Decide(Situation{Standing: []Standing{m}, Command: "kubectl annotate x="}).Removal
	assert.Equal(t, "1 of 1 workloads would go: a in /ns/prod.yml runs this controller itself: put it back into the data, or confirm: "+
		"kubectl annotate x="+r.Digest, r.String())
}

// The digest of a removal is the same for the same losses, and no other.
func TestRemovalDigest(t *testing.T) {
	digest := func(standing ...Standing) string {
		d := Decide(Situation{Standing: standing})
		return d.Removal.Digest
	}
	a, b := stands("a", "1", Ready), stands("b", "1", Ready)
	assert.Equal(t, digest(a, b), digest(b, a))
	assert.NotEqual(t, digest(a, b), digest(a))
	larger := a
	larger.Workloads = 2
	assert.NotEqual(t, digest(a), digest(larger))
	assert.Len(t, digest(a), 16)
	again := Decide(Situation{Standing: []Standing{a}, LastConfirmed: digest(a)})
	assert.NotEqual(t, digest(a), again.Removal.Digest, "a confirmation counts once")
}
