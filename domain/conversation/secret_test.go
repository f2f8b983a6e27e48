package conversation_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// hearSecrets has a unit hear all that a snapshot owes it, and returns what is about
// secrets.
func hearSecrets(t require.TestingT, m conversation.Memory, s conversation.Snapshot) (conversation.Memory, []string) {
	m, heard := events(t, m, s)
	var all []string
	for _, e := range heard {
		if e.Secret != "" {
			all = append(all, fmt.Sprintf("%s %s %q %d", e.Kind, e.Secret, e.Label, e.Revision))
		}
	}
	return m, all
}

// Who keeps to a revision hears of each later one once, until it refreshes; who owns
// a secret hears when it is due, and when its latest revision has ended.
func TestSecretEvents(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	snapshot := func(now time.Time, leads bool, secrets ...conversation.Secret) conversation.Snapshot {
		return conversation.Snapshot{Unit: unit("web/0"), Leader: leads, Term: 1, Secrets: secrets, Now: now}
	}
	reads := func(latest, kept int) conversation.Secret {
		return conversation.Secret{ID: "b", Label: "admin", Latest: latest, Kept: kept}
	}
	owned := conversation.Secret{ID: "a", Label: "root", Latest: 2, Rotates: noon, Expires: noon.Add(time.Hour)}
	rotated := owned
	rotated.Latest, rotated.Rotates, rotated.Expires = 3, noon.Add(24*time.Hour), time.Time{}
	own := owned
	own.Own, own.Expires = true, time.Time{}
	granted := func(revision int, bag map[string]string) conversation.Snapshot {
		s := snapshot(noon, false)
		s.Bags = contents
		s.Relations = []conversation.Relation{{UID: "r", ID: 1, Endpoint: "db", Role: application.Requirer, Remote: "db", Life: conversation.Alive, RemoteBag: contents.Put(bag)}}
		if revision > 0 {
			s.Relations[0].Granted = conversation.Granted{ID: "g", Revision: revision}
		}
		return s
	}
	refers := map[string]string{"secret": "secret:g"}
	type step struct {
		why  string
		in   conversation.Snapshot
		want []string
	}
	for name, steps := range map[string][]step{
		"Granted": {
			{"the relation is there before the grant", granted(0, nil), nil},
			{"the reference is news of the relation, and the Secret is read as it is (SAFETY.md S1)", granted(3, refers), nil},
			{"it has changed", granted(4, refers), []string{`secret-changed g "" 4`}},
			{"it was told", granted(4, refers), nil},
			{"a replica that is behind", granted(3, refers), nil},
			{"consent is taken back", granted(0, nil), nil},
			{"and given again, for what is new meanwhile", granted(6, refers), []string{`secret-changed g "" 6`}},
		},
		"Reader": {
			{"it reads the latest", snapshot(noon, false, reads(1, 1)), nil},
			{"there is another", snapshot(noon, false, reads(2, 1)), []string{`secret-changed b "admin" 2`}},
			{"it was told", snapshot(noon, false, reads(2, 1)), nil},
			{"two more came", snapshot(noon, false, reads(4, 1)), []string{`secret-changed b "admin" 4`}},
			{"a replica that is behind", snapshot(noon, false, reads(3, 1)), nil},
			{"nothing is known of it", snapshot(noon, false), nil},
			{"it was told", snapshot(noon, false, reads(4, 1)), nil},
			{"it has refreshed", snapshot(noon, false, reads(4, 4)), nil},
			{"who has the latest always is told of none", snapshot(noon, false, reads(5, 0)), nil},
		},
		"Owner": {
			{"not yet", snapshot(noon.Add(-time.Second), true, owned), nil},
			{"what time it is is not known", snapshot(time.Time{}, true, owned), nil},
			{"another leads", snapshot(noon, false, owned), nil},
			{"due", snapshot(noon, true, owned), []string{`secret-rotate a "root" 2`}},
			{"it was told", snapshot(noon.Add(time.Minute), true, owned), nil},
			{"and now it has ended", snapshot(noon.Add(time.Hour), true, owned), []string{`secret-expired a "root" 2`}},
			{"it was told", snapshot(noon.Add(2*time.Hour), true, owned), nil},
			{"it was rotated", snapshot(noon.Add(2*time.Hour), true, rotated), nil},
			{"due again", snapshot(noon.Add(24*time.Hour), true, rotated), []string{`secret-rotate a "root" 3`}},
		},
		"Unit": {{"its own need no leader", snapshot(noon, false, own), []string{`secret-rotate a "root" 2`}}},
		"Both": {{"in order of ID", snapshot(noon, true, reads(2, 1), owned), []string{`secret-rotate a "root" 2`, `secret-changed b "admin" 2`}}},
	} {
		t.Run(name, func(t *testing.T) {
			var m conversation.Memory
			for _, s := range steps {
				var got []string
				m, got = hearSecrets(t, m, s.in)
				assert.Equal(t, s.want, got, s.why)
				text, err := json.Marshal(m)
				require.NoError(t, err)
				parsed, err := conversation.ParseMemory(text)
				require.NoError(t, err)
				m = parsed // a restart in between loses nothing
			}
		})
	}
	leaving := snapshot(noon, false, reads(2, 1))
	leaving.Leaving = conversation.ScaledDown
	_, got := hearSecrets(t, conversation.Memory{}, leaving)
	assert.Empty(t, got, "who leaves has no use for it")
}

// A unit looks again when the next secret is due.
func TestWake(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := conversation.Snapshot{Now: noon, Secrets: []conversation.Secret{{Rotates: noon, Expires: noon.Add(3 * time.Hour)}, {Rotates: noon.Add(2 * time.Hour)}, {}}}
	assert.Equal(t, noon.Add(2*time.Hour), s.Wake())
	assert.Zero(t, conversation.Snapshot{Now: noon}.Wake())
}

// However often secrets change, what is heard of relations is the same as without
// them and in the same order (RELATIONS.md E9), the last revision is always told, none
// twice, and memory is bounded.
func TestSecretsLeaveRelationsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var with, without conversation.Memory
		once := map[string]bool{}
		s := conversation.Snapshot{Unit: unit("web/0"), Relations: []conversation.Relation{{UID: "r", ID: 1, Endpoint: "db", Role: application.Requirer, Remote: "db", Life: conversation.Alive}}}
		secrets := map[string]*conversation.Secret{"a": {ID: "a", Latest: 1, Kept: 1}, "b": {ID: "b", Latest: 1, Kept: 1}}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			secret := secrets[rapid.SampledFrom([]string{"a", "b"}).Draw(t, "secret")]
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				secret.Latest++
			case 1:
				secret.Kept = secret.Latest
			case 2:
				s.Relations[0].RemoteBag = contents.Put(bag{"v": fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "value"))})
			case 3:
				s.Relations[0].Units = []conversation.Member{{Unit: unit("db/0"), Bag: contents.Put(bag{"v": fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "value"))})}}
			}
			s.Secrets = []conversation.Secret{*secrets["b"], *secrets["a"]}
			var heard, alone []conversation.Event
			with, heard = events(t, with, s)
			bare := s
			bare.Secrets = nil
			without, alone = events(t, without, bare)
			var relations []conversation.Event
			for _, e := range heard {
				if e.Secret == "" {
					relations = append(relations, e)
					continue
				}
				key := fmt.Sprint(e.Secret, e.Revision)
				assert.False(t, once[key], "%s is told twice", key)
				once[key] = true
			}
			assert.Equal(t, alone, relations)
			for id, secret := range secrets {
				assert.True(t, secret.Kept == secret.Latest || with.Secrets[id].Changed == secret.Latest, "the last revision is told")
			}
		}
	})
	m := conversation.Memory{Secrets: map[string]conversation.ToldSecret{}}
	for i := range 1000 {
		m.Secrets[fmt.Sprintf("%04d", i)] = conversation.ToldSecret{Changed: 1}
	}
	kept := m.Observe(conversation.Snapshot{Secrets: []conversation.Secret{{ID: "0000"}}})
	assert.Len(t, kept.Secrets, 257)
	assert.Contains(t, kept.Secrets, "0000", "what is there is not forgotten")
	assert.Len(t, m.Secrets, 1000, "a memory is a value")
}

// events has a unit hear all that a snapshot owes it.
func events(t require.TestingT, m conversation.Memory, s conversation.Snapshot) (conversation.Memory, []conversation.Event) {
	var all []conversation.Event
	m = m.Observe(s)
	for range 100 {
		e, owed := conversation.Next(m, s)
		if !owed {
			return m, all
		}
		all, m = append(all, e), m.After(e, s)
	}
	require.Fail(t, "it goes on without end")
	return m, nil
}
