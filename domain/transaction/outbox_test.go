package transaction

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// What the writes about secrets make larger than an outbox can be is refused before the commit point too, with both
// numbers: the API server would refuse it each time that its author tries (TRUST.md T10, U1).
func TestNextRefusesWhatNoOutboxHolds(t *testing.T) {
	tests := map[string]struct {
		secrets int
		refused bool
	}{"Few": {secrets: 10}, "Many": {secrets: 60, refused: true}}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bag := change("one", true, "a", "1")
			c := commit("t", bag)
			var s Stored
			s.SetBag(c.Bag(bag).Name(), StoredBag{})
			for i := range test.secrets {
				w := secret.Write{Kind: secret.Add, ID: fmt.Sprintf("c6b9fk2t7m0q3v8x1%03d", i), Own: true, Description: strings.Repeat("<", 4096),
					Place: secret.Place{Shard: 1, Key: fmt.Sprint("k", i)}}
				c.Secrets = append(c.Secrets, w)
				s.SetSecret(w.ID, StoredSecret{})
			}
			s.SetOutbox(StoredOutbox{There: true})
			r, err := Next(c, s, time.Now())
			if !test.refused {
				require.NoError(t, err)
				assert.NotNil(t, r)
				return
			}
			require.ErrorIs(t, err, ErrInvalid)
			assert.Contains(t, err.Error(), "at most 917504 bytes as Kubernetes encodes it, this one has 1")
		})
	}
}
