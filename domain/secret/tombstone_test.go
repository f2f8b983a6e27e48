package secret_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// The ID of a removed secret is kept as long as a process may be late with its creation (TRUST.md T10).
func TestRemoved(t *testing.T) {
	owner := secret.Owner{Application: "db", Unit: "1"}
	revisions := []secret.Revision{{Number: 4, Place: at(1)}}
	tests := map[string]struct {
		why  string
		made time.Time
		now  time.Time
		want bool
	}{
		"Young":   {why: "it may be made again", made: epoch(), now: epoch().Add(time.Minute), want: true},
		"Old":     {why: "each process has given up", made: epoch(), now: epoch().Add(11 * time.Minute)},
		"Unknown": {why: "it was made in this very transaction", now: epoch(), want: true},
		"Ahead":   {why: "the API server's clock is ahead", made: epoch().Add(time.Minute), now: epoch(), want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := secret.Secret{
				ID: id, Made: tc.made, Owner: owner, Label: "l", Latest: 4, Revisions: revisions,
				Access: []secret.Access{{Relation: "r", Application: "web"}}, Readers: []secret.Reader{{Application: "web", Unit: "0"}},
			}
			want := secret.Secret{ID: id, Made: tc.made, Owner: owner, Latest: 4}
			if tc.want {
				want.Removed = tc.now
			}
			after := secret.Removed(s, tc.now)
			assert.Equal(t, want, after, tc.why)
			assert.True(t, after.Ended())
			assert.Equal(t, tc.want, secret.IsTombstone(after))
		})
	}
}
