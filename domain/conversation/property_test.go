package conversation_test

import (
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
)

// TestMain asks for more histories than rapid draws by itself, unless it was
// told how many.
func TestMain(m *testing.M) {
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "rapid.checks" })
	if !told {
		if err := flag.Set("rapid.checks", "2500"); err != nil {
			panic(err)
		}
	}
	m.Run()
}

// happenings lets many things happen, with handlers that take first joins together
// or one by one.
func happenings(t *rapid.T, s *stage) {
	for range 1 + upTo(t, 60, "length") {
		s.happen(t)
	}
}

// Whatever happened, whoever died and whatever was shown late, twice or in part:
// at the end each unit has heard the final state (RELATIONS.md V3, E1–E8, SAFETY.md V4,
// E13, E16). Each event was judged when it was told.
func TestFinalStateIsAlwaysTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStage()
		s.batch = rapid.Bool().Draw(t, "batch")
		happenings(t, s)
		s.settle(t)
		for _, u := range s.everybody() {
			s.knows(t, s.agents[u])
		}
	})
}

// knows proves that what the handlers of a unit heard is all there is.
func (s *stage) knows(t require.TestingT, a *agent) {
	now := s.snapshot(a.unit)
	require.Equal(t, now.Leader, a.heard.leader, a.describe())
	if now.Leader {
		require.Equal(t, now.Term, a.heard.term, a.describe())
	}
	for _, r := range now.Relations {
		of := a.heard.relations[r.UID]
		if r.Life != conversation.Alive || now.Leaving != "" {
			require.True(t, !of.open || r.Role == application.Peer, "RELATIONS.md E4: %s heard the end of %s", a.describe(), r.UID)
			require.Empty(t, of.members, a.describe())
			require.False(t, of.closed && r.Final, "SAFETY.md E14: %s heard that the end of %s is final", a.describe(), r.UID)
			continue
		}
		require.True(t, of.open, "RELATIONS.md E1: %s heard of %s", a.describe(), r.UID)
		want := map[conversation.Unit]conversation.Bag{}
		for _, m := range r.Units {
			want[m.Unit] = now.Bag(m.Bag)
		}
		require.Len(t, of.members, len(want), a.describe())
		for u, bag := range want {
			heard, knows := of.members[u]
			require.True(t, knows && maps.Equal(bag, heard), "%s heard of %s: %v, not %v", a.describe(), u, heard, bag)
		}
		if !own(&now, &r) {
			h := hearing{t, a, &r, of}
			require.True(t, maps.Equal(of.application, h.applicationBag()), "RELATIONS.md E5: %s of %s", a.describe(), r.UID)
		}
	}
}

// Once all units have heard all, no departure and no end is owed any more, and each application
// has handled each end while a unit led (SAFETY.md E15, TRUST.md T2).
func TestDebtsAreOwedUntilHandled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStage()
		happenings(t, s)
		for _, application := range applications() {
			for len(s.of(application)) < 2 {
				s.arrive(conversation.Unit{Application: application, Number: 50 + len(s.of(application))})
			}
		}
		for _, l := range s.relations {
			if l.life == conversation.Suspended {
				l.life = conversation.Alive
				s.revision++
			}
		}
		for u, a := range s.agents {
			if s.units[u] == nil {
				delete(s.agents, a.unit) // a StatefulSet that was deleted
			} else if s.units[u].leaving != "" {
				s.units[u].leaving = ""
			}
		}
		s.revision++
		s.elect()
		s.settle(t)
		for _, l := range s.relations {
			require.Equal(t, conversation.Alive, l.life, l.uid)
			require.Empty(t, l.departed, l.uid)
		}
		require.Empty(t, s.unheard)
	})
}

// The same memory and snapshot give the same event, in whatever order things are
// listed; neither is changed by deciding or remembering.
func TestNextIsDeterministicAndOrderFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStage()
		s.batch = rapid.Bool().Draw(t, "batch")
		happenings(t, s)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for _, u := range s.everybody() {
			m, shown := s.agents[u].memory, s.snapshot(u)
			m = m.Observe(shown)
			was := jsonOf(t, m)
			want, owed := conversation.Next(m, shown)
			again, still := conversation.Next(m, shuffled(random, s.snapshot(u)))
			require.Equal(t, want, again)
			require.Equal(t, owed, still)
			if owed {
				after := m.After(want, shown)
				require.Equal(t, jsonOf(t, after), jsonOf(t, m.After(want, shuffled(random, s.snapshot(u)))))
				after.Observe(shown)
			}
			require.Equal(t, was, jsonOf(t, m), "a memory is a value")
			require.Equal(t, s.snapshot(u), shown, "a snapshot is only looked at")
		}
	})
}

func shuffled(random *rand.Rand, s conversation.Snapshot) conversation.Snapshot {
	shuffle(random, s.Relations)
	for i := range s.Relations {
		shuffle(random, s.Relations[i].Units)
		shuffle(random, s.Relations[i].Departed)
	}
	return s
}

func shuffle[T any](random *rand.Rand, all []T) {
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
}

func jsonOf(t require.TestingT, value any) string {
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// written returns a snapshot as JSON, with contents in place of the references to them.
func written(t require.TestingT, s conversation.Snapshot) string {
	bags := s.Bags
	s.Bags = nil
	return regexp.MustCompile(`{"Version":"[^"]*"}`).ReplaceAllStringFunc(jsonOf(t, s), func(text string) string {
		var ref databag.Ref
		require.NoError(t, json.Unmarshal([]byte(text), &ref))
		return jsonOf(t, bags.Bag(ref))
	})
}

// A memory is at most so much larger than what it is a memory of: hashes for
// values, and nothing of what is over.
func TestMemoryStaysBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStage()
		happenings(t, s)
		s.settle(t)
		for _, u := range s.everybody() {
			now, m := s.snapshot(u), s.agents[u].memory
			require.LessOrEqual(t, len(jsonOf(t, m)), 200+4*len(written(t, now)), "%s", jsonOf(t, m))
			require.LessOrEqual(t, len(m.Relations), len(now.Relations))
			for _, r := range now.Relations {
				require.LessOrEqual(t, len(m.Relations[r.UID].Members), len(r.Units))
				require.LessOrEqual(t, len(m.Relations[r.UID].Departed), len(r.Departed))
			}
		}
	})
}

// What the record of each bag replays to is what is stored, but for the values of
// secrets, also after it went over the wire; and the record of the relation is all of
// them, in order of time.
func TestRecordReplaysToTheState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStage()
		happenings(t, s)
		for _, l := range s.relations {
			var records []history.Log
			for at, bag := range l.bags {
				r := l.records[at]
				lines, err := history.Encode(r.Entries)
				require.NoError(t, err)
				entries, err := history.Parse(lines)
				require.NoError(t, err)
				require.Equal(t, r.Entries, entries)
				to, err := r.Replay(at)
				require.NoError(t, err)
				require.True(t, to.Whole)
				require.Empty(t, to.Differs(bag))
				want := conversation.Bag{}
				for k, v := range bag {
					want[k] = v
					if k == secret {
						want[k] = ""
					}
				}
				require.Equal(t, want, to.Bag)
				records = append(records, r)
			}
			merged := history.Merge(records...)
			require.True(t, slices.IsSortedFunc(merged, func(a, b history.Entry) int { return a.Time.Compare(b.Time) }))
		}
	})
}
