package relation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// All that is known of a secret is in its state, and survives a restore without status (TRUST.md T5).
func TestSecretIsInItsState(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	want := secret.Secret{
		ID: "a", Owner: secret.Owner{Application: "db", Unit: "1"}, Label: "admin", Description: "of the shop",
		Rotation: "daily", Rotates: noon, Latest: 3,
		Revisions: []secret.Revision{
			{Number: 1, Place: secret.Place{Shard: 7, Key: "k"}, Created: noon}, {Number: 3, Place: secret.Place{Key: "l"}, Created: noon, Expires: noon},
		},
		Access: []secret.Access{
			{Relation: "one", Name: "r", Namespace: "office", Application: "blog.office"}, {Relation: "two", Name: "s", Application: "web", Unit: "0", Revoked: true},
		},
		Readers: []secret.Reader{{Application: "web", Unit: "0", Revision: 1, Label: "mine", Since: noon}, {Application: "web", Unit: "1"}},
	}
	s := &v1alpha1.RelatedSecret{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1alpha1.RelatedSecretSpec{Application: "db", Unit: "1"}}
	s.State.Term, s.State.Transaction = 4, "t"
	SetSecret(s, want)
	assert.Equal(t, want, ToSecret(s))
	assert.EqualValues(t, 4, s.State.Term, "its author says which")
	assert.Equal(t, "t", s.State.Transaction)

	tombstone := secret.Secret{ID: "a", Owner: want.Owner, Latest: 3, Removed: noon}
	SetSecret(s, tombstone)
	assert.Equal(t, tombstone, ToSecret(s))
}
