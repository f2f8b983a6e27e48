package negotiation_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// object is one object of a snapshot.
type object struct{ kind, namespace, name string }

func objects(s relation.Snapshot) []object {
	var all []object
	for _, r := range slices.Concat(s.Relations, s.Consumers) {
		all = append(all, object{relation.KindRelation, r.Requirer.Namespace, r.Name})
	}
	add := func(in string, records []relation.Record, bags []relation.Databag, sides []relation.Side) {
		for _, one := range sides {
			all = append(all, object{relation.KindSide, in, one.Name()})
		}
		for _, r := range records {
			all = append(all, object{relation.KindRecord, in, r.Name})
		}
		for _, b := range bags {
			all = append(all, object{relation.KindDatabag, in, b.Name()})
		}
	}
	add(s.Namespace, s.Records, s.Databags, s.Sides)
	for _, from := range s.Abroad {
		add(from.Namespace, from.Records, from.Databags, from.Sides)
	}
	return all
}

// Whatever object of whatever namespace is unreadable: it is not ended, withdrawn, forgotten,
// numbered anew, deleted or made a second time, no id is given twice, and what has nothing to do
// with it is decided as if it could be read.
func TestOneUnreadableObject(t *testing.T) {
	known := library(t)
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.judgedBy(t, known)
		history(t, w, 12)
		if rapid.Bool().Draw(t, "settled before") {
			w.settle(t)
		}
		happen(t, w)
		s := w.observe()
		candidates := objects(s)
		if len(candidates) == 0 {
			return
		}
		hidden := rapid.SampledFrom(candidates).Draw(t, "unreadable")
		spoilt := hide(s, hidden.kind, hidden.namespace, hidden.name)
		if rapid.Bool().Draw(t, "id is readable") {
			for _, r := range slices.Concat(s.Relations, s.Consumers) {
				if r.UID == spoilt.Unreadable[0].UID {
					spoilt.Unreadable[0].Relation.State.ID = r.State.ID
				}
			}
		}
		decisions, _ := negotiation.Negotiate(spoilt)
		again, _ := negotiation.Negotiate(spoilt)
		require.Equal(t, decisions, again)
		untouched(t, s, spoilt.Unreadable[0], decisions)
		want, _ := negotiation.Negotiate(s)
		related := relatedTo(s, spoilt.Unreadable[0], want)
		assert.Equal(t, unrelated(want, related), unrelated(decisions, related))
	})
}

// untouched proves that no decision harms an unreadable object, what is about it, or an id.
func untouched(t *rapid.T, s relation.Snapshot, one relation.Unreadable, decisions []relation.Decision) {
	highest := s.LastRelation
	for _, r := range s.Relations {
		highest = max(highest, r.State.ID)
	}
	given := map[int]bool{}
	for _, r := range s.Relations {
		given[r.State.ID] = true
	}
	harm := map[string][]string{
		relation.KindRelation: {"Relate ", "Update ", "Finish "}, relation.KindRecord: {"Remember ", "Forget "},
		relation.KindDatabag: {"Publish ", "Withdraw "}, relation.KindSide: {"Keep ", "Drop "},
	}
	for _, decision := range decisions {
		name, applications := about(decision)
		if one.Namespace == s.Namespace {
			for _, verb := range harm[one.Kind] {
				assert.NotEqual(t, verb+one.Name, name)
			}
			if strings.HasPrefix(name, "Finish ") || strings.HasPrefix(name, "Withdraw ") {
				assert.False(t, one.Kind == relation.KindRecord && slices.Contains(applications, one.Name), name)
			}
		}
		switch d := decision.(type) {
		case relation.Count:
			assert.Greater(t, d.LastRelation, s.LastRelation, "the count only grows")
		case relation.Relate:
			assert.NotEqual(t, one.Relation.Key, d.Key, name)
			assert.NotEqual(t, one.Side.Key, d.Key, name)
			assert.Greater(t, d.State.ID, highest, "no id is given twice: %s", name)
		case relation.Update:
			assert.True(t, given[d.State.ID] || d.State.ID > highest, "no id is given twice: %s", name)
		case relation.Release:
			assert.False(t, d.Deleted.IsZero(), name)
			assert.False(t, one.Kind == relation.KindSide && d.UID == one.Side.Relation && !s.Ending, "T2: its end would be lost: %s", name)
		case relation.Withdraw:
			assert.False(t, one.Kind == relation.KindRelation && d.Relation == one.UID, name)
			assert.False(t, one.Kind == relation.KindSide && d.Relation == one.Side.Relation && d.Application == one.Side.Here().Application, name)
		default:
		}
	}
}

// relatedTo returns the applications that have to do with an object, by relations, references or
// names; where it may hold the highest id, also those that would be given one.
func relatedTo(s relation.Snapshot, one relation.Unreadable, want []relation.Decision) map[string]bool {
	related := map[string]bool{}
	add := func(k relation.Key) { related[k.Requirer.Application], related[k.Provider.Application] = true, true }
	switch one.Kind {
	case relation.KindRelation:
		add(one.Relation.Key)
	case relation.KindSide:
		add(one.Side.Key)
	case relation.KindRecord:
		related[one.Name] = true
	case relation.KindDatabag:
		for _, b := range s.Databags {
			related[b.Application] = related[b.Application] || b.Name() == one.Name
		}
	}
	if one.Namespace != s.Namespace {
		for _, from := range s.Abroad {
			for _, r := range from.Records {
				related[r.Name] = true
			}
		}
	}
	for _, d := range want {
		if relate, is := d.(relation.Relate); is {
			add(relate.Key)
		}
	}
	for _, r := range s.Relations {
		if r.State.ID == 0 {
			add(r.Key)
		}
	}
	services := map[string]string{}
	for _, a := range s.Applications {
		services[a.Name] = a.Name
		for _, service := range a.Services {
			services[service] = a.Name
		}
	}
	for range 8 { // there are fewer names
		for _, r := range s.Relations {
			if related[r.Requirer.Application] || related[r.Provider.Application] {
				add(r.Key)
			}
		}
		for _, a := range s.Applications {
			for _, ref := range a.Relations {
				named := cmp.Or(services[ref.Application], ref.Application)
				if ref.Namespace != "" && ref.Namespace != s.Namespace {
					named = ref.Application
				}
				if related[a.Name] || related[named] {
					related[a.Name], related[named] = true, true
				}
			}
		}
	}
	return related
}

// unrelated returns the decisions about other applications, without ids.
func unrelated(decisions []relation.Decision, related map[string]bool) []relation.Decision {
	var all []relation.Decision
	for _, d := range decisions {
		_, applications := about(d)
		_, mark := d.(relation.Mark)
		_, count := d.(relation.Count) // of ids
		if mark || count || slices.ContainsFunc(applications, func(name string) bool { return related[name] }) {
			continue
		}
		all = append(all, d)
	}
	return all
}
