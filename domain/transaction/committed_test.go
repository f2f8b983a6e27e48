package transaction

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// What was admitted is delivered whole, also when what its writes about secrets refer to has ended since the commit point
// (SAFETY.md E11, TRUST.md T10).
func TestCommittedIsDelivered(t *testing.T) {
	const first, other = "secret0000000000000a", "secret0000000000000b"
	soon := now().Add(time.Second)
	set := func(id string, w secret.Write) secret.Write {
		w.ID = id
		return w
	}
	refresh := func(s *store) {
		k := s.secrets[other].content
		k.Revisions, k.Readers = k.Revisions[1:], nil
		s.revision++
		s.secrets[other] = object[StoredSecret]{s.revision, k}
	}
	tests := map[string]struct {
		why    string
		writes []secret.Write
		// meanwhile happens after the commit point.
		meanwhile func(*store)
		label     string
	}{
		"Expired": {
			why: "its process was killed, and the time that a revision ends at has passed",
			writes: []secret.Write{
				set(first, secret.Write{Kind: secret.Set, Label: "new"}),
				set(other, secret.Write{Kind: secret.Set, Place: secret.Place{Key: "second"}, Expires: soon}),
			},
			label: "new",
		},
		"MadeAndExpired": {
			why: "a new one too",
			writes: []secret.Write{
				set(first, secret.Write{Kind: secret.Set, Label: "new"}),
				{Kind: secret.Add, ID: secretID, Own: true, Place: secret.Place{Key: "content"}, Expires: soon},
			},
			label: "new",
		},
		"RevisionWent": {
			why: "its last reader has refreshed, and the revision went by itself",
			writes: []secret.Write{
				set(first, secret.Write{Kind: secret.Set, Label: "new"}),
				set(other, secret.Write{Kind: secret.Remove, Revision: 1}),
				set(other, secret.Write{Kind: secret.Set, Label: "after"}),
			},
			meanwhile: refresh,
			label:     "new",
		},
		"AllRevisionsWent": {
			why: "its last reader has come to the one that is removed",
			writes: []secret.Write{
				set(first, secret.Write{Kind: secret.Set, Label: "new"}),
				set(other, secret.Write{Kind: secret.Remove, Revision: 2}),
				set(other, secret.Write{Kind: secret.Grant, Access: secret.Access{Relation: "one", Application: "web"}}),
			},
			meanwhile: refresh,
			label:     "new",
		},
		"EndedByAnother": {
			why: "the process that was killed has removed it as part of the same transaction",
			writes: []secret.Write{
				set(first, secret.Write{Kind: secret.Set, Label: "new"}),
				set(other, secret.Write{Kind: secret.Remove, Revision: 1}),
				set(other, secret.Write{Kind: secret.Remove, Revision: 2}),
			},
			meanwhile: func(s *store) { delete(s.secrets, other) },
			label:     "new",
		},
	}
	for name, tc := range tests {
		for _, firstOfAll := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				s := newStore()
				for _, id := range []string{first, other} {
					s.revision++
					s.secrets[id] = object[StoredSecret]{s.revision, StoredSecret{There: true, Secret: secret.Secret{
						ID: id, Owner: secret.Owner{Application: "db", Unit: "1"}, Latest: 2,
						Revisions: []secret.Revision{{Number: 1, Place: secret.Place{Key: "old"}}, {Number: 2, Place: secret.Place{Key: "content"}}},
						Readers:   []secret.Reader{{Application: "web", Unit: "0", Revision: 1}},
					}}}
				}
				p := s.committer(with(commit("t", change("one", true, "a", "1"), change("two", true, "a", "1")), tc.writes...), true)
				for !p.stored.posted || firstOfAll && s.secrets[first].content.Label == "" {
					require.False(t, p.done, "%v", p.err)
					p.step()
				}
				if tc.meanwhile != nil {
					tc.meanwhile(s)
				}
				d := s.deliverer(1)
				d.next = func(stored Stored) (Request, error) { return Deliver(stored, now().Add(time.Minute)) }
				require.NoError(t, d.finish())
				assert.Empty(t, d.stored.Dropped(), tc.why)
				assert.Equal(t, tc.label, s.secrets[first].content.Label, tc.why)
				assert.Equal(t, map[string]string{"a": "1"}, s.data("one"), tc.why)
				assert.Equal(t, map[string]string{"a": "1"}, s.data("two"), tc.why)
			})
		}
	}
}
