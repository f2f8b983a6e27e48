package conversation_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// spoken is a relation in which web/0 and its application have said something.
func spoken() conversation.Relation {
	r := db("db/0")
	r.OwnBag, r.OwnApplicationBag = contents.Put(bag{"a": "1", "b": "2"}), contents.Put(bag{"user": "web"})
	return r
}

// A handler reads its own writes, nobody else does before it succeeds, and what
// it writes is one list of changes (RELATIONS.md E11).
func TestTransaction(t *testing.T) {
	s := leader(sees(spoken()))
	handler := conversation.Begin(s)
	require.NoError(t, handler.Set("uid-1", false, bag{"b": "", "c": "3"}))
	require.NoError(t, handler.Set("uid-1", true, bag{"user": "other"}))
	require.NoError(t, handler.Set("uid-1", false, bag{"a": "9"}))

	mine := conversation.ForUnit("uid-1", unit("web/0"))
	own, err := handler.Read(mine)
	require.NoError(t, err)
	assert.Equal(t, bag{"a": "9", "c": "3"}, own, "a handler reads its own writes")
	own["a"] = "changed"
	own, err = handler.Read(mine)
	require.NoError(t, err)
	assert.Equal(t, "9", own["a"], "what was read is a copy")
	theirs, err := handler.Read(conversation.ForApplication("uid-1", "db"))
	require.NoError(t, err)
	assert.Empty(t, theirs)
	other, err := conversation.Begin(s).Read(mine)
	require.NoError(t, err)
	assert.Equal(t, bag{"a": "1", "b": "2"}, other, "nobody else reads them: a transaction that is dropped never was")

	unitBag := conversation.Compare(mine, bag{"a": "1", "b": "2"}, bag{"a": "9", "c": "3"})
	assert.Equal(t, []conversation.Change{
		conversation.Compare(conversation.ForApplication("uid-1", "web"), bag{"user": "web"}, bag{"user": "other"}),
		unitBag,
	}, handler.Commit())
	assert.Equal(t, bag{"c": "3"}, unitBag.Added)
	assert.Equal(t, map[string]conversation.Pair{"a": {From: "1", To: "9"}}, unitBag.Changed)
	assert.Equal(t, bag{"b": "2"}, unitBag.Removed)
}

// Commits are in order of the relations' turns, whatever was written first.
func TestTransactionOrder(t *testing.T) {
	s := leader(sees(peers(), related(10, "cache"), related(2, "log"), db()))
	for range 5 {
		handler := conversation.Begin(s)
		var got []string
		for _, uid := range []string{"uid-9", "uid-10", "uid-1", "uid-2"} {
			require.NoError(t, handler.Set(uid, false, bag{"a": "1"}))
			require.NoError(t, handler.Set(uid, true, bag{"a": "1"}))
		}
		for _, c := range handler.Commit() {
			got = append(got, c.Relation+" "+c.Owner)
		}
		assert.Equal(t, []string{
			"uid-1 web", "uid-1 web/0", "uid-2 web", "uid-2 web/0", "uid-10 web", "uid-10 web/0", "uid-9 web", "uid-9 web/0",
		}, got)
	}
}

// An empty value deletes; what is there already, or comes back to what it was, is
// no change (RELATIONS.md P3).
func TestTransactionWithoutChange(t *testing.T) {
	tests := map[string]struct {
		why  string
		sets []bag
	}{
		"Nothing":      {"nothing was written", nil},
		"Same":         {"the same values", []bag{{"a": "1"}, {"b": "2"}}},
		"Deleted":      {"a key that is not there is deleted", []bag{{"x": ""}}},
		"ThereAndBack": {"a value comes back to what it was", []bag{{"a": "2"}, {"a": "1"}}},
		"MadeAndGone":  {"a new key goes again", []bag{{"x": "1"}, {"x": ""}}},
		"GoneAndMade":  {"a key comes back", []bag{{"a": ""}, {"a": "1"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			handler := conversation.Begin(sees(spoken()))
			for _, values := range test.sets {
				require.NoError(t, handler.Set("uid-1", false, values))
			}
			assert.Empty(t, handler.Commit(), test.why)
		})
	}
}

// What is over a limit is refused whole, with size and limit: none of its keys is
// written, and what was written before stays (RELATIONS.md P6).
func TestLimits(t *testing.T) {
	full := bag{}
	for k := range strings.SplitSeq("abcdefg", "") {
		full[k] = strings.Repeat("x", databag.MaxValue)
	}
	full["h"] = strings.Repeat("x", databag.MaxValue-8)
	tests := map[string]struct {
		why    string
		values bag
		told   []string
	}{
		"Full":      {"exactly the limit of a bag", full, nil},
		"LongKey":   {"exactly the limit of a key", bag{strings.Repeat("k", databag.MaxKey): "1"}, nil},
		"Bag":       {"one byte over the limit of a bag", with(full, "h", full["h"]+"y"), []string{"524289", "524288"}},
		"Key":       {"one byte over the limit of a key", bag{strings.Repeat("k", databag.MaxKey+1): "1", "ok": "1"}, []string{"254", "253"}},
		"Value":     {"one byte over the limit of a value", bag{"big": full["a"] + "x", "ok": "1"}, []string{"65537", "65536", "big"}},
		"NoKey":     {"a value without a key", bag{"": "1", "ok": "1"}, []string{"without a key"}},
		"NotUTF8":   {"what no tool can show", bag{"a": "\xff", "ok": "1"}, []string{"UTF-8"}},
		"DeleteBig": {"the limit of a key holds for what is deleted, too", bag{strings.Repeat("k", databag.MaxKey+1): ""}, []string{"254"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			handler := conversation.Begin(sees(db()))
			require.NoError(t, handler.Set("uid-1", false, bag{"before": "1"}))
			require.NoError(t, handler.Set("uid-1", false, bag{"before": ""}))
			err := handler.Set("uid-1", false, test.values)
			if test.told == nil {
				require.NoError(t, err, test.why)
				assert.Equal(t, test.values, handler.Commit()[0].Added)
				return
			}
			assert.Equal(t, conversation.Invalid, conversation.RefusalOf(err), test.why)
			for _, word := range test.told {
				assert.Contains(t, err.Error(), word, test.why)
			}
			assert.Empty(t, handler.Commit(), test.why)
		})
	}
}

func with(b bag, key, value string) bag {
	b = maps.Clone(b)
	b[key] = value
	return b
}

// Who may not write is told by Set, before anything is committed.
func TestTransactionForbidden(t *testing.T) {
	handler := conversation.Begin(sees(db()))
	assert.Equal(t, conversation.Forbidden, conversation.RefusalOf(handler.Set("uid-1", true, bag{"a": "1"})))
	assert.Equal(t, conversation.NotYet, conversation.RefusalOf(handler.Set("uid-7", false, bag{"a": "1"})))
	_, err := handler.Read(conversation.ForUnit("uid-1", unit("web/1")))
	assert.Equal(t, conversation.Forbidden, conversation.RefusalOf(err))
	assert.Empty(t, handler.Commit())
}

// A handler leads in one term at most: that in which it began as the leader, or else the one that it learnt of first
// (SAFETY.md P1, DECISIONS.md 385).
func TestTransactionLedIn(t *testing.T) {
	for name, began := range map[string]struct {
		leads bool
		term  int64
	}{"BeganAsLeader": {true, 3}, "LedBefore": {false, 2}, "NeverLed": {false, 0}} {
		t.Run(name, func(t *testing.T) {
			s := sees(db())
			s.Leader, s.Term = began.leads, began.term
			handler := conversation.BeginEvent(s)
			assert.Equal(t, began.leads, handler.Set("uid-1", true, bag{"a": "1"}) == nil)
			for _, term := range []int64{3, 5} {
				now := sees(db())
				now.Leader, now.Term = true, term
				handler.LedIn(now)
			}
			require.NoError(t, handler.Set("uid-1", true, bag{"a": "2"}))
			assert.EqualValues(t, 3, handler.Term())
		})
	}
}

// A change applied to what it was made from gives what it was made for, and leaves
// other keys of another content alone.
func TestChangeApplies(t *testing.T) {
	content := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"1", "2"}), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		before, after := content.Draw(t, "before"), content.Draw(t, "after")
		c := conversation.Compare(conversation.Address{}, before, after)
		require.Equal(t, after, c.Apply(before))
		require.Equal(t, maps.Equal(before, after), c.Before == c.After)
		more := c.Apply(with(before, "other", "1"))
		require.Equal(t, with(after, "other", "1"), more)
	})
}

// A handler that is told late can still handle its event: what it says in a relation
// that has ended is dropped, by whoever may say it. Outside of a handler it is refused
// (RELATIONS.md E2, P4).
func TestLateHandlers(t *testing.T) {
	s := leader(sees(life(spoken(), conversation.Ending, conversation.RelationRemoved)))
	handler := conversation.BeginEvent(s)
	require.NoError(t, handler.Set("uid-1", true, bag{"user": "late"}))
	require.NoError(t, handler.Set("uid-1", false, bag{"a": "late"}))
	assert.Empty(t, handler.Commit())
	assert.True(t, handler.Drops("uid-1"))
	s.Leader = false
	refused := &conversation.Error{}
	require.ErrorAs(t, conversation.BeginEvent(s).Set("uid-1", true, bag{"a": "1"}), &refused)
	assert.Equal(t, conversation.Forbidden, refused.Kind)
	tool := conversation.Begin(s)
	require.ErrorAs(t, tool.Set("uid-1", false, bag{"a": "1"}), &refused)
	assert.Equal(t, conversation.Gone, refused.Kind)
	assert.False(t, tool.Drops("uid-1"))
}

// The handler of a suspension's event can handle it: it reads nothing of the other side, and what it writes there is dropped.
// The handlers of other events, and tools outside of them, are refused (RELATIONS.md P4).
func TestHandlersOfASuspension(t *testing.T) {
	suspended := spoken()
	suspended.Units = nil
	s := leader(sees(life(suspended, conversation.Suspended, conversation.SuspendedReason), related(2, "cache")))
	theirs := conversation.ForUnit("uid-1", unit("db/0"))
	handler := conversation.BeginEvent(s).About(conversation.Event{Kind: conversation.Departed, Relation: "uid-1"})
	read, err := handler.Read(theirs)
	require.NoError(t, err)
	assert.Empty(t, read)
	require.NoError(t, handler.Set("uid-1", true, bag{"user": "late"}))
	require.NoError(t, handler.Set("uid-1", false, bag{"a": "late"}))
	require.NoError(t, handler.Set("uid-2", false, bag{"a": "1"}))
	require.Len(t, handler.Commit(), 1)
	assert.Equal(t, "uid-2", handler.Commit()[0].Relation)
	assert.True(t, handler.Drops("uid-1") && handler.Suspends("uid-1"))
	assert.False(t, handler.Drops("uid-2") || handler.Suspends("uid-2"))
	for _, other := range []*conversation.Transaction{
		conversation.BeginEvent(s).About(conversation.Event{Kind: conversation.Changed, Relation: "uid-2"}),
		conversation.BeginEvent(s).About(conversation.Event{Kind: conversation.Elected}),
		conversation.Begin(s).About(conversation.Event{Relation: "uid-1"}),
	} {
		_, err := other.Read(theirs)
		assert.Equal(t, conversation.NotYet, conversation.RefusalOf(err))
		assert.Equal(t, conversation.NotYet, conversation.RefusalOf(other.Set("uid-1", false, bag{"a": "1"})))
		assert.False(t, other.Drops("uid-1"))
	}
}

// A handler whose unit begins to lead is shown the databags of its application that it could not read before, as they are
// then, and goes on with what it was shown of everything else (SAFETY.md P1).
func TestTransactionOfANewLeader(t *testing.T) {
	before, peer := spoken(), peers()
	before.OwnApplicationBag = databag.Ref{}
	peer.OwnApplicationBag = contents.Put(bag{"primary": "web/1"})
	began := sees(before, peer)
	handler := conversation.BeginEvent(began)
	ours, among := conversation.ForApplication("uid-1", "web"), conversation.ForApplication(peer.UID, "web")
	_, err := handler.Read(ours)
	assert.Equal(t, conversation.Forbidden, conversation.RefusalOf(err))

	after, later := spoken(), peers()
	after.OwnBag = contents.Put(bag{"a": "newer"})
	later.OwnApplicationBag = contents.Put(bag{"primary": "web/2"})
	now := sees(later, after)
	handler.LedIn(now)
	assert.False(t, handler.Leads(), "nobody has said so")
	now.Leader, now.Term = true, 4
	handler.LedIn(now)
	assert.True(t, handler.Leads())
	assert.False(t, began.Leader, "the snapshot stays as it was")
	assert.True(t, began.Relations[0].OwnApplicationBag.IsZero())
	for at, want := range map[conversation.Address]bag{
		ours: {"user": "web"}, among: {"primary": "web/1"}, conversation.ForUnit("uid-1", unit("web/0")): {"a": "1", "b": "2"},
	} {
		read, err := handler.Read(at)
		require.NoError(t, err)
		assert.Equal(t, want, read, at.Owner)
	}
	now.Term = 5
	handler.LedIn(now)
	assert.EqualValues(t, 4, handler.Term(), "who has lost it meanwhile must not write by a later one")
}

// A unit is shown as the leader once each of its sides has the databag of its application (RELATIONS.md P).
func TestOwnShowsLeader(t *testing.T) {
	shown := conversation.Side{Relation: "uid-1", ApplicationBag: databag.Ref{}.OrEmpty()}
	assert.True(t, conversation.Own{}.ShowsLeader(), "there is nothing to read")
	assert.True(t, conversation.Own{Sides: []conversation.Side{shown}}.ShowsLeader())
	assert.False(t, conversation.Own{Sides: []conversation.Side{shown, {Relation: "uid-2"}}}.ShowsLeader())
}
