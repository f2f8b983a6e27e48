package conversation_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// look is one snapshot, and all that web/0 is told of it.
type look struct {
	sees conversation.Snapshot
	want []string
}

// told runs looks one after the other.
func told(t *testing.T, why string, looks []look) {
	t.Helper()
	var m conversation.Memory
	for i, l := range looks {
		var got []string
		m, got = hear(t, m, l.sees)
		assert.Equal(t, l.want, got, "look %d: %s", i+1, why)
	}
}

// What a unit is told, in order: a table for each rule (RELATIONS.md E1–E8 and
// E12, SAFETY.md E13–E16).
func TestNext(t *testing.T) {
	suspended := life(db("db/0", "db/1"), conversation.Suspended, conversation.SuspendedReason)
	ending := life(db("db/0"), conversation.Ending, conversation.ApplicationRemoved)
	tests := map[string]struct {
		why   string
		looks []look
	}{
		"Created": {
			why: "E1: created comes first and once, leadership aside",
			looks: []look{
				{leader(sees(db())), []string{"elected", "1 created"}},
				{leader(sees(db())), nil},
			},
		},
		"Unseen": {
			why: "L2: who is not seen yet hears nothing, and has its address when it does; what it heard before goes on",
			looks: []look{
				{unseen(db("db/0")), nil},
				{sees(db("db/0")), []string{"1 created", "1 joined db/0", "1 changed db/0"}},
				{unseen(db("db/0 host=a")), []string{"1 changed db/0 +host"}},
				{unseen(life(db("db/0 host=a"), conversation.Ending, conversation.RelationRemoved)), []string{"1 departed db/0 relation-removed", "1 broken relation-removed final"}},
			},
		},
		"NewLife": {
			why: "SAFETY.md E13: a life of which this version knows nothing is no end",
			looks: []look{
				{sees(life(db("db/0"), "resting", "")), []string{"1 created", "1 joined db/0", "1 changed db/0"}},
			},
		},
		"NeverCreated": {
			why: "E1: what ends before the unit heard of it is never told",
			looks: []look{
				{sees(ending), nil},
				{sees(life(related(2, "db"), conversation.Suspended, conversation.SuspendedReason)), nil},
			},
		},
		"ElectedAgain": {
			why: "a unit that led, did not, and leads again is told again, also if it missed the time between",
			looks: []look{
				{leader(sees()), []string{"elected"}}, {leader(sees()), nil}, {sees(), nil}, {leader(sees()), []string{"elected"}},
				{term(sees(), 2), []string{"elected"}}, {term(sees(), 2), nil},
			},
		},
		"ElectedLeaving": {
			why:   "a unit that ends leads nobody",
			looks: []look{{leaving(leader(sees()), conversation.ScaledDown), nil}},
		},
		"ChangedAfterJoined": {
			why:   "E2, E6: who joins is heard next, also with an empty bag",
			looks: []look{{sees(db("db/1", "db/0 host=a")), []string{"1 created", "1 joined db/0", "1 changed db/0 +host", "1 joined db/1", "1 changed db/1"}}},
		},
		"Departed": {
			why: "E3: in natural order, each for its own reason; the bag may be gone",
			looks: []look{
				{sees(db("db/10", "db/2")), []string{"1 created", "1 joined db/2", "1 changed db/2", "1 joined db/10", "1 changed db/10"}},
				{sees(gone(gone(db(), "db/10", conversation.ScaledDown), "db/2", conversation.Replaced)), []string{"1 departed db/2 replaced", "1 departed db/10 scaled-down"}},
				{sees(gone(gone(db(), "db/10", conversation.ScaledDown), "db/2", conversation.Replaced)), nil},
			},
		},
		"NeverMet": {
			why:   "E3: a unit that never joined does not depart",
			looks: []look{{sees(gone(db(), "db/0", conversation.ScaledDown)), []string{"1 created"}}},
		},
		"Back": {
			why: "E3: a unit that is in scope has not departed, whatever is left of its earlier life",
			looks: []look{
				{sees(db("db/0")), []string{"1 created", "1 joined db/0", "1 changed db/0"}},
				{sees(gone(db("db/0 host=b"), "db/0 host=a", conversation.Replaced)), []string{"1 changed db/0 +host"}},
			},
		},
		"LocalLeaves": {
			why: "E3, E4: when the unit itself ends it is the one that departs, and the end is not final",
			looks: []look{
				{sees(db("db/0"), peers("web/1")), []string{"1 created", "9 created", "1 joined db/0", "9 joined web/1", "1 changed db/0", "9 changed web/1"}},
				{leaving(sees(db("db/0"), peers("web/1")), conversation.ScaledDown), []string{
					"1 departed db/0 scaled-down departing=web/0", "9 departed web/1 scaled-down departing=web/0", "1 broken scaled-down",
				}},
				{leaving(sees(db("db/0"), peers("web/1")), conversation.ScaledDown), nil},
			},
		},
		"LocalLeavesFirst": {
			why: "SAFETY.md E15: who leaves handles its own departure; another's is owed to its application as before",
			looks: []look{
				{leader(sees(db("db/1"))), []string{"elected", "1 created", "1 joined db/1", "1 changed db/1"}},
				{leaving(leader(sees(inherited(db("db/1"), conversation.Replaced))), conversation.ScaledDown), []string{"1 departed db/1 scaled-down departing=web/0", "1 broken scaled-down"}},
				{leader(sees(inherited(db(), conversation.Replaced))), []string{"1 created", "1 departed db/0 replaced"}},
			},
		},
		"LocalReturns": {
			why: "SAFETY.md E15: a StatefulSet's unit comes back with its memory, and everything begins anew",
			looks: []look{
				{sees(db("db/0")), []string{"1 created", "1 joined db/0", "1 changed db/0"}},
				{leaving(sees(db("db/0")), conversation.ScaledDown), []string{"1 departed db/0 scaled-down departing=web/0", "1 broken scaled-down"}},
				{sees(db("db/0")), []string{"1 created", "1 joined db/0", "1 changed db/0"}},
			},
		},
		"Broken": {
			why: "E4: once, after every departure, and final if the relation has ended (SAFETY.md E14)",
			looks: []look{
				{sees(db("db/0")), []string{"1 created", "1 joined db/0", "1 changed db/0"}},
				{sees(ending), []string{"1 departed db/0 application-removed", "1 broken application-removed final"}},
				{sees(ending), nil},
				{sees(), nil},
			},
		},
		"BrokenUnexplained": {
			why: "E4: an end has a reason, also where the snapshot has none",
			looks: []look{
				{sees(db()), []string{"1 created"}},
				{sees(life(db(), conversation.Suspended, "")), []string{"1 broken suspended"}},
				{sees(life(db(), conversation.Ending, "")), []string{"1 broken relation-removed final"}},
			},
		},
		"NeverBack": {
			why: "SAFETY.md E16: nothing of a relation comes after its end",
			looks: []look{
				{sees(db()), []string{"1 created"}},
				{sees(ending), []string{"1 broken application-removed final"}},
				{sees(db("db/0")), nil},
			},
		},
		"Suspended": {
			why: "E4, SAFETY.md E14: a suspension is never final, and resuming begins anew",
			looks: []look{
				{sees(db("db/0", "db/1")), []string{"1 created", "1 joined db/0", "1 changed db/0", "1 joined db/1", "1 changed db/1"}},
				{sees(suspended), []string{"1 departed db/0 suspended", "1 departed db/1 suspended", "1 broken suspended"}},
				{sees(suspended), nil},
				{sees(db("db/1")), []string{"1 created", "1 joined db/1", "1 changed db/1"}},
			},
		},
		"SuspendedThenRemoved": {
			why: "SAFETY.md E14: data may be deleted only at the final end, so it is told although the relation was broken before",
			looks: []look{
				{sees(db()), []string{"1 created"}},
				{sees(suspended), []string{"1 broken suspended"}},
				{sees(ending), []string{"1 broken application-removed final"}},
				{sees(ending), nil},
			},
		},
		"EndingNotFinal": {
			why: "SAFETY.md E14: an end is final only if the snapshot says so",
			looks: []look{
				{sees(db()), []string{"1 created"}},
				{sees(notFinal(ending)), []string{"1 broken application-removed"}},
				{sees(ending), []string{"1 broken application-removed final"}},
			},
		},
		"FinalWhileLeaving": {
			why: "E4: a relation that ends for good while the unit leaves has ended for good",
			looks: []look{
				{sees(db()), []string{"1 created"}},
				{leaving(sees(ending), conversation.ScaledDown), []string{"1 broken application-removed final"}},
			},
		},
		"PeersEnd": {
			why: "E4: peers depart, and nothing of theirs is broken",
			looks: []look{
				{sees(peers("web/1")), []string{"9 created", "9 joined web/1", "9 changed web/1"}},
				{sees(life(peers("web/1"), conversation.Ending, conversation.ApplicationRemoved)), []string{"9 departed web/1 application-removed"}},
			},
		},
		"PeersLeft": {
			why: "E5: who leaves hears no more of what its peers say",
			looks: []look{
				{sees(peers("web/1")), []string{"9 created", "9 joined web/1", "9 changed web/1"}},
				{leaving(sees(saying(peers("web/1 a=1", "web/2"), bag{"a": "1"})), conversation.Replaced), []string{"9 departed web/1 replaced departing=web/0"}},
			},
		},
		"Application": {
			why: "E5: an application is heard before its units join; an empty bag is no news",
			looks: []look{
				{sees(db()), []string{"1 created"}},
				{sees(saying(db("db/0"), bag{"url": "a"})), []string{"1 changed db +url", "1 joined db/0", "1 changed db/0"}},
				{sees(saying(db("db/0"), bag{"url": "b"})), []string{"1 changed db ~url"}},
				{sees(saying(db("db/0"), nil)), []string{"1 changed db -url"}},
			},
		},
		"LeadersPeerBag": {
			why: "E5, E8: the leader hears nothing of its own application's bag, the others do",
			looks: []look{
				{leader(sees(saying(peers(), bag{"a": "1"}))), []string{"elected", "9 created"}},
				{sees(saying(peers(), bag{"a": "1"})), nil},
				{sees(saying(peers(), bag{"a": "1", "b": "2"})), []string{"9 changed web +b"}},
			},
		},
		"DeposedLeader": {
			why: "E8: who led when it wrote does not hear of it from another leader's time; what that one wrote, it does",
			looks: []look{
				{sees(peers()), []string{"9 created"}},
				{sees(wrote(saying(peers(), bag{"a": "1"}), "web/0")), nil},
				{sees(wrote(saying(peers(), bag{"a": "1"}), "web/0")), nil},
				{sees(wrote(saying(peers(), bag{}), "web/1")), []string{"9 changed web -a"}},
			},
		},
		"OwnUnit": {
			why:   "E8: a snapshot that lists the unit itself tells it nothing about itself",
			looks: []look{{sees(peers("web/0 a=1")), []string{"9 created"}}},
		},
		"Changed": {
			why: "E7, E10: the first unit whose bag differs, with the difference",
			looks: []look{
				{sees(db("db/0 a=1 b=1 c=1", "db/1")), []string{"1 created", "1 joined db/0", "1 changed db/0 +a +b +c", "1 joined db/1", "1 changed db/1"}},
				{sees(db("db/1 x=1", "db/0 b=2 c=1 d=1")), []string{"1 changed db/0 +d ~b -a", "1 changed db/1 +x"}},
			},
		},
		"Batch": {
			why: "E12: a whole first join is one event; later comers join one by one",
			looks: []look{
				{batch(sees(db())), []string{"1 created"}},
				{batch(sees(saying(db("db/10", "db/2 host=a"), bag{"url": "a"}))), []string{"1 joined db/2 db/10 +url"}},
				{batch(sees(saying(db("db/10 host=b", "db/2 host=a", "db/3"), bag{"url": "a"}))), []string{"1 joined db/3", "1 changed db/3", "1 changed db/10 +host"}},
			},
		},
		"BatchAlone": {
			why: "E12: an application without units is heard by itself, peers are not joined by the unit itself",
			looks: []look{
				{batch(sees(saying(db(), bag{"url": "a"}))), []string{"1 created", "1 changed db +url"}},
				{batch(sees(saying(db("db/0"), bag{"url": "a"}), peers("web/0"))), []string{"9 created", "1 joined db/0"}},
			},
		},
		"Unknown": {
			why: "SAFETY.md E13: a relation or unit that is not mentioned has not ended",
			looks: []look{
				{sees(db("db/0 a=1", "db/1")), []string{"1 created", "1 joined db/0", "1 changed db/0 +a", "1 joined db/1", "1 changed db/1"}},
				{sees(db("db/1")), nil},
				{sees(), nil},
				{sees(db("db/0 a=2", "db/1")), []string{"1 changed db/0 ~a"}},
			},
		},
		"Inherited": {
			why: "SAFETY.md E15: the leader inherits a departure that nobody is left to handle, once, and nobody else does",
			looks: []look{
				{sees(inherited(db(), conversation.ScaledDown)), []string{"1 created"}},
				{leader(sees(inherited(db(), conversation.ScaledDown))), []string{"elected", "1 departed db/0 scaled-down"}},
				{leader(sees(inherited(db(), conversation.ScaledDown))), nil},
				{leader(sees(inherited(db("db/0"), conversation.ScaledDown))), []string{"1 joined db/0", "1 changed db/0"}},
				{leader(sees(inherited(db(), conversation.Replaced))), []string{"1 departed db/0 replaced"}},
			},
		},
		"InheritedBeforeSuspension": {
			why: "SAFETY.md E15: once, also if the relation is closed and opened meanwhile",
			looks: []look{
				{leader(sees(inherited(db(), conversation.ScaledDown))), []string{"elected", "1 created", "1 departed db/0 scaled-down"}},
				{leader(sees(life(inherited(db(), conversation.ScaledDown), conversation.Suspended, ""))), []string{"1 broken suspended"}},
				{leader(sees(inherited(db(), conversation.ScaledDown))), []string{"1 created"}},
			},
		},
		"InheritedMeanwhile": {
			why: "SAFETY.md E15: who handled a departure does not inherit it before that is known elsewhere",
			looks: []look{
				{leader(sees(db("db/0"))), []string{"elected", "1 created", "1 joined db/0", "1 changed db/0"}},
				{leader(sees(gone(db(), "db/0", conversation.ScaledDown))), []string{"1 departed db/0 scaled-down"}},
				{leader(sees(inherited(db(), conversation.ScaledDown))), nil},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { told(t, test.why, test.looks) })
	}
}

func notFinal(r conversation.Relation) conversation.Relation {
	r.Final = false
	return r
}

func wrote(r conversation.Relation, writer string) conversation.Relation {
	r.OwnApplicationWriter = unit(writer)
	return r
}

// A leader hears nothing of its own application's bag, whether or not the snapshot
// was noted before (RELATIONS.md E5, E8).
func TestOwnWriteUnnoted(t *testing.T) {
	m, _ := hear(t, conversation.Memory{}, sees(peers()))
	written := saying(peers(), bag{"a": "1"})
	_, owed := conversation.Next(m, sees(wrote(written, "web/0")))
	assert.False(t, owed)
	unseen := sees(peers()).With([]conversation.Change{conversation.Compare(conversation.ForApplication(peers().UID, "web"), nil, bag{"a": "1"})})
	_, owed = conversation.Next(m, unseen)
	assert.False(t, owed, "nor does who led then, before it is shown that")
	_, owed = conversation.Next(m.After(conversation.Event{Kind: conversation.Elected}, leader(sees())), leader(sees(written)))
	assert.False(t, owed)
}

// What is owed after a unit has joined and before its bag was announced
// (RELATIONS.md E2).
func TestPending(t *testing.T) {
	joined := sees(db("db/0 host=a"))
	tests := map[string]struct {
		why  string
		sees conversation.Snapshot
		want []string
	}{
		"There":      {"the plain case", joined, []string{"1 changed db/0 +host"}},
		"Left":       {"also if it has left meanwhile, with what it said last", sees(gone(db(), "db/0 host=b", conversation.ScaledDown)), []string{"1 changed db/0 +host", "1 departed db/0 scaled-down"}},
		"LeftNoBag":  {"also if what it said is not kept any more", sees(gone(db(), "db/0", conversation.ScaledDown)), []string{"1 changed db/0", "1 departed db/0 scaled-down"}},
		"Ended":      {"also if the relation ends", sees(life(db(), conversation.Ending, conversation.RelationRemoved)), []string{"1 changed db/0", "1 departed db/0 relation-removed", "1 broken relation-removed final"}},
		"First":      {"before everything else of the relation", sees(saying(db("db/0 host=a", "db/1"), bag{"url": "a"})), []string{"1 changed db/0 +host", "1 changed db +url", "1 joined db/1", "1 changed db/1"}},
		"NotThisOne": {"who is not mentioned is waited for, and the others are not (SAFETY.md E13)", sees(db("db/1")), []string{"1 joined db/1", "1 changed db/1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := conversation.Memory{}
			for range 2 {
				e, owed := conversation.Next(m, joined)
				require.True(t, owed)
				m = m.After(e, joined)
			}
			m, got := hear(t, m, test.sees)
			assert.Equal(t, test.want, got, test.why)
			if name == "NotThisOne" {
				_, got = hear(t, m, joined)
				assert.Equal(t, []string{"1 changed db/0 +host"}, got, test.why)
			}
		})
	}
}

// Relations take turns by id, one event each; peers come last in each round, and
// the turn survives a restart (RELATIONS.md E9).
func TestTurns(t *testing.T) {
	s := sees(peers("web/1"), related(3, "cache", "cache/0"), related(1, "db", "db/0"), related(2, "log"))
	s.Relations[0].ID = 0 // the lowest id, and still the last
	m, got := hear(t, conversation.Memory{}, s)
	assert.Equal(t, []string{
		"1 created", "2 created", "3 created", "created",
		"1 joined db/0", "3 joined cache/0", "joined web/1",
		"1 changed db/0", "3 changed cache/0", "changed web/1",
	}, got)

	var ids []int
	for round := range 6 {
		news := "round=" + strconv.Itoa(round)
		busy := sees(related(3, "cache", "cache/0 "+news), db("db/0 "+news))
		e, owed := conversation.Next(m, busy)
		require.True(t, owed)
		ids = append(ids, e.ID)
		text, err := json.Marshal(m.After(e, busy))
		require.NoError(t, err)
		m, err = conversation.ParseMemory(text)
		require.NoError(t, err)
	}
	assert.Equal(t, []int{1, 3, 1, 3, 1, 3}, ids, "a relation that always has news does not keep another waiting")
}

// However much each relation has to tell, none has two events more than one that
// still waits (RELATIONS.md E9).
func TestTurnsAreFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sees()
		for i := range 1 + upTo(t, 5, "relations") {
			r := related(i, "db")
			if upTo(t, 3, "peers") == 0 {
				r = peers()
				r.UID, r.ID = "peer-"+strconv.Itoa(i), i
			}
			for n := range upTo(t, 5, "units") {
				r.Units = append(r.Units, conversation.Member{Unit: conversation.Unit{Application: r.Remote, Number: n + 1}})
			}
			s.Relations = append(s.Relations, r)
		}
		told, waits := map[string]int{}, map[string]int{}
		for _, r := range s.Relations {
			waits[r.UID] = 1 + 2*len(r.Units)
		}
		m := conversation.Memory{}
		for e, owed := conversation.Next(m, s); owed; e, owed = conversation.Next(m, s) {
			m = m.After(e, s)
			told[e.Relation]++
			for uid, all := range waits {
				if told[uid] < all {
					require.LessOrEqual(t, told[e.Relation], told[uid]+1)
				}
			}
		}
		require.Equal(t, waits, told)
	})
}

// Two relations may have one id: it is unique in the requirer's namespace only.
func TestTurnsOfOneID(t *testing.T) {
	a, b := related(1, "db", "db/0"), related(1, "db.other", "db.other/0")
	a.UID, b.UID = "b", "a"
	_, got := hear(t, conversation.Memory{}, sees(a, b))
	assert.Equal(t, []string{
		"1 created", "1 created", "1 joined db.other/0", "1 joined db/0", "1 changed db.other/0", "1 changed db/0",
	}, got)
}

// An event carries both versions, and all that names its relation
// (RELATIONS.md E10).
func TestEventIsComplete(t *testing.T) {
	s := sees(db("db/0 host=a"))
	m, _ := hear(t, conversation.Memory{}, s)
	s = sees(db("db/0 host=b"))
	e, owed := conversation.Next(m, s)
	require.True(t, owed)
	u := unit("db/0")
	want := conversation.Compare(conversation.Address{}, bag{"host": "a"}, bag{"host": "b"})
	assert.Equal(t, conversation.Event{
		Kind: conversation.Changed, Relation: "uid-1", ID: 1, Endpoint: "to-db", Application: "db", Unit: &u,
		Difference: conversation.Difference{Changed: []string{"host"}, Before: want.Before, After: want.After},
	}, e)
}

// What changed while the handler ran is announced again: the memory holds what was
// shown (RELATIONS.md V3).
func TestChangedWhileHandled(t *testing.T) {
	shown := sees(db("db/0 host=a"))
	m, _ := hear(t, conversation.Memory{}, shown)
	shown = sees(db("db/0 host=b"))
	e, owed := conversation.Next(m, shown)
	require.True(t, owed)
	meanwhile := sees(db("db/0 host=c"))
	m = m.Observe(meanwhile).After(e, shown)
	_, got := hear(t, m, meanwhile)
	assert.Equal(t, []string{"1 changed db/0 ~host"}, got)
}
