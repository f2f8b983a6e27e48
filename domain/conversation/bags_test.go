package conversation_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// What is put is read back, by any equal content; what was never put reads as nothing.
func TestBagMap(t *testing.T) {
	tests := map[string]struct {
		why  string
		bag  bag
		want bag
		kept int
	}{
		"Keys":  {"a content is read back", bag{"a": "1"}, bag{"a": "1"}, 1},
		"Empty": {"there is nothing to keep of an empty one", bag{}, nil, 0},
		"None":  {"nor of none", nil, nil, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := conversation.BagMap{}
			assert.Equal(t, databag.RefTo(test.bag), all.Put(test.bag), test.why)
			assert.Equal(t, test.want, all.Bag(databag.RefTo(maps.Clone(test.bag))), test.why)
			assert.Len(t, all, test.kept, test.why)
		})
	}
	assert.Empty(t, conversation.BagMap{}.Bag(databag.Ref{Version: "never put"}))
	nothing := conversation.Snapshot{}
	assert.Empty(t, nothing.Bag(databag.RefTo(bag{"a": "1"})))
	assert.Empty(t, conversation.View{}.Bag(databag.RefTo(bag{"a": "1"})))
}

// Contents hide none below them that have another reference, and need none below them.
func TestBagMapOverOthers(t *testing.T) {
	below, top := conversation.BagMap{}, conversation.BagMap{}
	a, b := below.Put(bag{"a": "1"}), top.Put(bag{"b": "2"})
	both := top.Over(below)
	assert.Equal(t, bag{"a": "1"}, both.Bag(a))
	assert.Equal(t, bag{"b": "2"}, both.Bag(b))
	assert.Empty(t, below.Bag(b), "what lies below is left as it was")
	assert.Empty(t, top.Over(nil).Bag(a))
}

// No bag and an empty one cause the same events (RELATIONS.md E5). A departed unit without a bag cannot be read
// any more, with an empty one it can (RELATIONS.md P2).
func TestNoneAndEmpty(t *testing.T) {
	tests := map[string]struct {
		why           string
		before, after bag
		want          []string
	}{
		"Emptied": {"none after an empty one is no news", bag{}, nil, nil},
		"Made":    {"nor an empty one after none", nil, bag{}, nil},
		"Gone":    {"none after keys takes them away", bag{"a": "1"}, nil, []string{"1 changed db -a"}},
		"Cleared": {"as an empty one does", bag{"a": "1"}, bag{}, []string{"1 changed db -a"}},
		"Said":    {"keys after none are new", nil, bag{"a": "1"}, []string{"1 changed db +a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, _ := hear(t, conversation.Memory{}, sees(saying(db(), test.before)))
			_, lines := hear(t, m, sees(saying(db(), test.after)))
			assert.Equal(t, test.want, lines, test.why)
		})
	}
	of := conversation.ForUnit("uid-1", unit("db/0"))
	r := gone(db(), "db/0", conversation.ScaledDown)
	read, err := conversation.Read(sees(r), of)
	require.NoError(t, err)
	assert.Equal(t, bag{}, read)
	r.Departed[0].Bag = databag.Ref{}
	_, err = conversation.Read(sees(r), of)
	assert.Equal(t, conversation.Gone, conversation.RefusalOf(err))
}

// A unit reads its own writes, laid over a snapshot (SAFETY.md V4). Other bags stay as they were, and the
// snapshot without the writes still reads the old contents.
func TestWritesLieOverASnapshot(t *testing.T) {
	content := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"1", "2"}), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		all := conversation.BagMap{}
		draw := func(label string) databag.Ref { return all.Put(content.Draw(t, label)) }
		var relations []conversation.Relation
		for id := range rapid.IntRange(1, 3).Draw(t, "relations") {
			r := related(id, "db", "db/0")
			r.RemoteBag, r.OwnBag, r.OwnApplicationBag, r.Units[0].Bag = draw("remote"), draw("own"), draw("application"), draw("unit")
			relations = append(relations, r)
		}
		s := leader(sees(relations...))
		s.Bags = all
		before := contentsOf(s)
		want := maps.Clone(before)
		now := s
		for range rapid.IntRange(0, 3).Draw(t, "commits") {
			var changes []conversation.Change
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				uid := rapid.SampledFrom(relations).Draw(t, "relation").UID
				at := rapid.SampledFrom([]conversation.Address{conversation.ForUnit(uid, s.Unit), conversation.ForApplication(uid, "web")}).Draw(t, "bag")
				after := content.Draw(t, "after")
				changes = append(changes, conversation.Compare(at, want[at], after))
				want[at] = after
			}
			now = now.With(changes)
		}
		require.Equal(t, want, contentsOf(now), "its own writes, and all else as it was")
		require.Equal(t, before, contentsOf(s), "the snapshot before")
	})
}

// contentsOf returns what web/0 reads of each bag that it sees.
func contentsOf(s conversation.Snapshot) map[conversation.Address]bag {
	all := map[conversation.Address]bag{}
	for _, r := range s.Relations {
		for _, owner := range []string{"web/0", "web", "db", "db/0"} {
			at := conversation.Address{Relation: r.UID, Owner: owner}
			read, err := conversation.Read(s, at)
			if err != nil {
				panic(err)
			}
			all[at] = read
		}
	}
	return all
}
