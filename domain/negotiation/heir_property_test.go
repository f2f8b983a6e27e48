package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// heirs is a pair that a declaration and two persons relate, in whatever order they come and go.
type heirs struct {
	*world

	key relation.Key
}

func newHeirs(t require.TestingT) heirs {
	w := newWorld()
	w.external("db", "main:pg")
	w.external("other", "main:pg")
	w.handling(application.Deployment, "blog", "blog-1")
	h := heirs{world: w}
	h.declares("db")
	w.settle(t)
	h.key = w.only(t).Key
	return h
}

func (h heirs) declares(provider string) {
	h.consumes("blog", "store:pg", provider, application.KeyRetain, "1h")
}

// steps are what may happen.
func (h heirs) steps() map[string]func() {
	made := func(name string) func() {
		return func() {
			if _, there := h.relations[name]; !there {
				h.apply(name, here("blog", "store"), here("db", "main"), "pg", 0)
			}
		}
	}
	removed := func(name string) func() { return func() { h.remove(name, h.relations[name].UID) } }
	passes := func(d time.Duration) func() { return func() { h.now = h.now.Add(d) } }
	return map[string]func(){
		"declare": func() { h.declares("db") }, "undeclare": func() { h.declares("") }, "other": func() { h.declares("other") },
		"make one": made("one"), "make two": made("two"), "delete one": removed("one"), "delete two": removed("two"),
		"delete declared": removed(h.key.Name()), "10m": passes(10 * time.Minute), "2h": passes(2 * time.Hour),
	}
}

// ends counts the ends of the pair that are owed.
func (h heirs) ends() (owed int) {
	for _, s := range h.sides {
		if s.Key == h.key && s.Teardown != nil {
			owed++
		}
	}
	return owed
}

// persons counts the Relations of the pair that persons made, living those that are related.
func (h heirs) persons() (made int) {
	for _, r := range h.relations {
		if r.Key == h.key && r.Manual() && r.Deleted.IsZero() {
			made++
		}
	}
	return made
}

func (h heirs) living() (living int) {
	for _, r := range h.relations {
		if r.Key == h.key && r.State.ID > 0 && r.Alive() {
			living++
		}
	}
	return living
}

// Whatever comes and goes, and wherever the controller is killed between two writes: while a person's Relation of the pair is
// there no end is owed, and one relation lives (TRUST.md A11 and T2).
func TestHeirsOfAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHeirs(t)
		steps := h.steps()
		for range rapid.IntRange(1, 14).Draw(t, "steps") {
			owed := h.ends()
			what := rapid.SampledFrom([]string{
				"declare", "undeclare", "other", "make one", "make two", "delete one", "delete two", "delete declared", "10m", "2h",
			}).Draw(t, "what")
			steps[what]()
			persons := h.persons()
			for range rapid.IntRange(0, 3).Draw(t, "kills") {
				decisions, _ := h.negotiate(t)
				h.run(decisions, rapid.IntRange(0, 6).Draw(t, "writes"))
			}
			h.settle(t)
			require.LessOrEqual(t, h.living(), 1)
			if persons > 0 {
				require.LessOrEqual(t, h.ends(), owed, "an end after %s", what)
			}
			if persons > 0 && h.ends() == 0 {
				require.Equal(t, 1, h.living(), "after %s", what)
			}
			h.now = h.now.Add(time.Second)
		}
	})
}
