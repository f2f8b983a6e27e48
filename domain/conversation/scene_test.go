package conversation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// A scene is what web/0 sees, written down shortly.

type bag = conversation.Bag

// contents are those of all scenes: equal references have equal contents, so that no scene disturbs another.
//
//nolint:gochecknoglobals // scenes are values in tables
var contents = conversation.BagMap{}

// sees is a snapshot of web/0.
func sees(relations ...conversation.Relation) conversation.Snapshot {
	return conversation.Snapshot{Unit: unit("web/0"), Relations: relations, Bags: contents}
}

// unseen is what web/0 sees as long as the others do not see it.
func unseen(relations ...conversation.Relation) conversation.Snapshot {
	for i := range relations {
		relations[i].Unseen = true
	}
	return sees(relations...)
}

// db is relation 1 with units, as "db/0" or "db/0 host=a port=1".
func db(units ...string) conversation.Relation { return related(1, "db", units...) }

func related(id int, remote string, units ...string) conversation.Relation {
	r := conversation.Relation{
		UID: fmt.Sprintf("uid-%d", id), ID: id, Endpoint: "to-" + remote, Role: application.Requirer,
		Remote: remote, Life: conversation.Alive,
	}
	for _, text := range units {
		name, said := said(text)
		r.Units = append(r.Units, conversation.Member{Unit: name, Bag: contents.Put(said)})
	}
	return r
}

// said reads a unit and its bag.
func said(text string) (conversation.Unit, bag) {
	words := strings.Fields(text)
	b := bag{}
	for _, pair := range words[1:] {
		key, value, _ := strings.Cut(pair, "=")
		b[key] = value
	}
	return unit(words[0]), b
}

// peers is relation 9 among the units of web.
func peers(units ...string) conversation.Relation {
	r := related(9, "web", units...)
	r.Role = application.Peer
	return r
}

func life(r conversation.Relation, l conversation.Life, why conversation.Reason) conversation.Relation {
	r.Life, r.EndReason, r.Final = l, why, l == conversation.Ending
	return r
}

// gone adds a tombstone.
func gone(r conversation.Relation, text string, why conversation.Reason) conversation.Relation {
	u, b := said(text)
	r.Departed = append(r.Departed, conversation.Tombstone{Unit: u, Reason: why, Bag: contents.Put(b)})
	return r
}

// inherited adds the tombstone of db/0, which nobody is left to handle.
func inherited(r conversation.Relation, why conversation.Reason) conversation.Relation {
	r = gone(r, "db/0", why)
	r.Departed[len(r.Departed)-1].Inherited = true
	return r
}

// owedEnd adds the units that are asked whether they have handled the end; without any, the leader inherits
// it.
func owedEnd(r conversation.Relation, numbers ...int) conversation.Relation {
	r.End = conversation.Owing{Owed: numbers, Inherited: len(numbers) == 0}
	return r
}

func saying(r conversation.Relation, b bag) conversation.Relation {
	if r.Role == application.Peer {
		r.OwnApplicationBag = contents.Put(b)
	} else {
		r.RemoteBag = contents.Put(b)
	}
	return r
}

func leader(s conversation.Snapshot) conversation.Snapshot {
	s.Leader = true
	return s
}

func term(s conversation.Snapshot, t int64) conversation.Snapshot {
	s.Leader, s.Term = true, t
	return s
}

func leaving(s conversation.Snapshot, why conversation.Reason) conversation.Snapshot {
	s.Leaving = why
	return s
}

func batch(s conversation.Snapshot) conversation.Snapshot {
	s.Batch = true
	return s
}

// line writes an event as a table wants it: "1 changed db/0 +host ~port".
func line(e conversation.Event) string {
	words := []string{string(e.Kind)}
	if e.ID != 0 {
		words = []string{fmt.Sprint(e.ID), string(e.Kind)}
	}
	switch {
	case e.Unit != nil:
		words = append(words, e.Unit.String())
	case e.Kind == conversation.Changed:
		words = append(words, e.Application)
	}
	for _, u := range e.Joined {
		words = append(words, u.String())
	}
	words = append(words, signed("+", e.Difference.Added)...)
	words = append(words, signed("~", e.Difference.Changed)...)
	words = append(words, signed("-", e.Difference.Removed)...)
	if e.Reason != "" {
		words = append(words, string(e.Reason))
	}
	if e.Departing != nil && *e.Departing != *e.Unit {
		words = append(words, "departing="+e.Departing.String())
	}
	if e.Final {
		words = append(words, "final")
	}
	return strings.Join(words, " ")
}

func signed(sign string, keys []string) []string {
	var words []string
	for _, k := range keys {
		words = append(words, sign+k)
	}
	return words
}

// hear tells a unit all that it is owed.
func hear(t *testing.T, m conversation.Memory, s conversation.Snapshot) (conversation.Memory, []string) {
	t.Helper()
	m = m.Observe(s)
	var lines []string
	for e, owed := conversation.Next(m, s); owed; e, owed = conversation.Next(m, s) {
		lines = append(lines, line(e))
		m = m.After(e, s)
		require.Less(t, len(lines), 1000, "telling comes to an end")
	}
	return m, lines
}
