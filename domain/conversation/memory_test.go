package conversation_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// A memory keeps no bag from which it was made, although keys share the memory of the bag that was read (TRUST.md U2).
func TestMemoryKeepsNoBags(t *testing.T) {
	const units = 64
	inUse := func() int64 {
		runtime.GC()
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		return int64(now.HeapAlloc)
	}
	before := inUse()
	told := func() conversation.Memory {
		r, bags := db(), conversation.BagMap{}
		for n := range units {
			text := databag.Encode(bag{"host": fmt.Sprint(n), "large": strings.Repeat("v", databag.MaxValue)})
			read, err := databag.Decode(string(text))
			require.NoError(t, err)
			r.Units = append(r.Units, conversation.Member{Unit: conversation.Unit{Application: "db", Number: n}, Bag: bags.Put(read)})
		}
		s := sees(r)
		s.Bags = bags
		m, _ := hear(t, conversation.Memory{}, s)
		return m
	}()
	assert.Less(t, inUse()-before, int64(units*databag.MaxValue/4))
	assert.Len(t, told.Relations["uid-1"].Members, units)
}

// A suspension was handled when broken was, and counts again after the relation has gone
// on; of one that ended another word is due (RELATIONS.md L3, SAFETY.md E14).
func TestSuspensionIsHandled(t *testing.T) {
	alive, suspended := sees(db()), sees(life(db(), conversation.Suspended, ""))
	var m conversation.Memory
	hear := func(s conversation.Snapshot) {
		e, owed := conversation.Next(m, s)
		require.True(t, owed)
		m = m.After(e, s)
	}
	assert.Equal(t, []string{"uid-1"}, m.Suspended(suspended), "it never heard of the relation")
	hear(alive)
	assert.Empty(t, m.Suspended(alive))
	assert.Empty(t, m.Suspended(suspended), "broken is still to come")
	hear(suspended)
	assert.Equal(t, []string{"uid-1"}, m.Suspended(suspended))
	ended := sees(owedEnd(life(db(), conversation.Ending, ""), 0))
	assert.Empty(t, m.Suspended(ended))
	assert.Empty(t, m.Ends(ended), "the end is still to come")
	hear(alive)
	assert.Empty(t, m.Suspended(suspended), "it has begun anew")
}

// A memory that was saved is the same when it is read, and holds no value of a
// bag.
func TestMemoryIsSaved(t *testing.T) {
	s := leader(sees(gone(saying(db("db/0 password=hunter2"), bag{"url": "value"}), "db/7", conversation.ScaledDown), peers("web/1")))
	m, _ := hear(t, conversation.Memory{}, s)
	s.Relations[0] = gone(db(), "db/0", conversation.ScaledDown)
	m, _ = hear(t, m, s)
	text, err := json.Marshal(m)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "hunter2")
	again, err := conversation.ParseMemory(text)
	require.NoError(t, err)
	text2, err := json.Marshal(again)
	require.NoError(t, err)
	assert.JSONEq(t, string(text), string(text2))
	_, got := hear(t, again, s)
	assert.Empty(t, got, "nothing is told again")

	text, err = json.Marshal(conversation.Memory{})
	require.NoError(t, err)
	assert.Equal(t, "{}", string(text))
	_, err = conversation.ParseMemory([]byte(`{"relations":{"a":{"members":{"db":{}}}}}`))
	assert.Error(t, err, "a member that is no unit")
}

// What snapshots do not mention any more is kept, but not without end: the latest
// relations, and of one the highest units (SAFETY.md E13).
func TestUnknownIsBounded(t *testing.T) {
	var crowd conversation.Snapshot
	for i := range 300 {
		crowd.Relations = append(crowd.Relations, related(i+10, "log"))
	}
	many := db()
	for i := range 300 {
		many.Units = append(many.Units, conversation.Member{Unit: conversation.Unit{Application: "db", Number: i}})
	}
	crowd.Unit, crowd.Relations = unit("web/0"), append(crowd.Relations, many)
	m, got := hear(t, conversation.Memory{}, crowd)
	require.Len(t, got, 301+2*300)
	assert.Equal(t, m, m.Observe(crowd), "all that is mentioned is kept")

	few := sees(db("db/299"))
	m = m.Observe(few)
	assert.Len(t, m.Relations, 1+256)
	assert.NotContains(t, m.Relations, "uid-53")
	assert.Contains(t, m.Relations, "uid-54")
	members := m.Relations["uid-1"].Members
	assert.Len(t, members, 1+256)
	assert.NotContains(t, members, unit("db/42"))
	assert.Contains(t, members, unit("db/43"))

	ends := crowd
	ends.Relations = []conversation.Relation{life(many, conversation.Ending, conversation.RelationRemoved)}
	m, _ = hear(t, m, ends)
	assert.Equal(t, conversation.Over, m.Relations["uid-1"].Stage)
	assert.NotContains(t, m.Observe(sees()).Relations, "uid-1", "a relation that is over is forgotten when it is not mentioned any more")
	assert.Contains(t, m.Observe(ends).Relations, "uid-1", "and not before")
}

// A leader that runs the departures of an inherited end, and leads no longer before the end itself, forgets a relation
// that it never knew (TRUST.md T2).
func TestInheritedRelationIsForgotten(t *testing.T) {
	owed := leader(sees(owedEnd(gone(life(db(), conversation.Ending, conversation.ApplicationRemoved), "db/0", conversation.ScaledDown))))
	m := conversation.Memory{Leader: true, Term: owed.Term}.Observe(owed)
	departed, due := conversation.Next(m, owed)
	require.True(t, due)
	require.Equal(t, conversation.Departed, departed.Kind)
	m = m.After(departed, owed)
	require.Contains(t, m.Relations, "uid-1")
	assert.Empty(t, m.Observe(sees()).Relations)
}

// An event of a relation that the snapshot does not have changes nothing.
func TestAfterStranger(t *testing.T) {
	m, _ := hear(t, conversation.Memory{}, sees(db()))
	assert.Equal(t, m, m.After(conversation.Event{Kind: conversation.Created, Relation: "uid-7"}, sees(db())))
}

// FuzzParseMemory: whatever is on a disk is refused, or is a memory with which a
// unit can go on to the end.
func FuzzParseMemory(f *testing.F) {
	f.Add([]byte(`{"leader":true,"turn":{"id":1},"relations":{"uid-1":{"stage":"open","members":{"db/0":{}},"application":{"version":"x","values":{"a":1}},"departed":["db/1"]}}}`))
	f.Add([]byte(`{"relations":{"uid-1":{"stage":"closed"},"uid-9":{"stage":"over","acted":true}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := conversation.ParseMemory(text)
		if err != nil {
			return
		}
		saved := func(m conversation.Memory) (conversation.Memory, string) {
			text, err := json.Marshal(m)
			require.NoError(t, err)
			again, err := conversation.ParseMemory(text)
			require.NoError(t, err)
			return again, string(text)
		}
		m, _ = saved(m) // without what means nothing, as an empty list
		again, first := saved(m)
		_, second := saved(again)
		require.Equal(t, first, second)
		m, _ = hear(t, m, leader(sees(gone(saying(db("db/0 a=1", "db/2"), bag{"a": "1"}), "db/1", conversation.ScaledDown), peers("web/1"))))
		_, _ = hear(t, m, sees(life(db("db/2"), conversation.Ending, ""), life(peers(), conversation.Ending, "")))
	})
}
