package secrets

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// sweepLate sweeps the shop twice, more than a day later.
func sweepLate(t *testing.T, v *Vault) {
	t.Helper()
	late := *v
	late.Now = func() time.Time { return kubetest.Epoch().Add(25 * time.Hour) }
	for range 2 {
		snapshot, err := late.Observe(t.Context(), "shop")
		require.NoError(t, err)
		for _, d := range secret.Sweep(snapshot) {
			require.NoError(t, late.Apply(t.Context(), "shop", d))
		}
	}
}

// Whenever a process dies, a day later there is the content that a secret names and no other (SAFETY.md E11,
// TRUST.md T5).
func TestNothingLeaksAndNothingIsLost(t *testing.T) {
	tests := map[string]secret.Draft{
		"Add":    adds(otherID, "hunter3"),
		"Set":    sets(secretID, "hunter3"),
		"Remove": {Write: secret.Write{Kind: secret.Remove, ID: secretID}},
	}
	for name, draft := range tests {
		t.Run(name, func(t *testing.T) {
			for most := range 6 {
				server, commits, secrets := vault()
				_, err := commits.Commit(t.Context(), kubetest.Commit(), drafts(adds(secretID, "hunter2")))
				require.NoError(t, err)
				server.Most = server.Writes + most
				_, _ = commits.Commit(t.Context(), kubetest.Commit(), drafts(draft))
				server.Most = 0
				sweepLate(t, &Vault{Contents: secrets.Contents, Cached: server})
				all, err := object.SecretsOf(t.Context(), server, "shop")
				require.NoError(t, err)
				var named []string
				for _, s := range all {
					for _, p := range s.Places() {
						content, err := secrets.read(t.Context(), "shop", p)
						require.NoError(t, err, "after %d writes", most)
						named = append(named, string(content["password"]))
					}
				}
				assert.ElementsMatch(t, named, contentOf(t, server), "after %d writes", most)
			}
		})
	}
}

// Content of a transaction that is refused is removed at once.
func TestRefusedContentIsRemoved(t *testing.T) {
	server, commits, _ := vault()
	large := adds(otherID, "x")
	large.Content = map[string][]byte{"password": make([]byte, 700_000)}
	for i := range shards {
		full := object.Named(&corev1.Secret{}, "shop", ContentSecret(i))
		full.ResourceVersion, full.UID = "7", "uid"
		full.Data = map[string][]byte{"x.y": make([]byte, maxShard/2)}
		server.Kept.Put(full)
	}
	_, err := commits.Commit(t.Context(), kubetest.Commit(), drafts(adds(secretID, "hunter2"), large))
	require.ErrorIs(t, err, &conversation.Error{Kind: conversation.Invalid})
	assert.NotContains(t, contentOf(t, server), "hunter2")
}

// A mark counts from the restore of its Secret, and so does a mark without a time.
func TestMarksOf(t *testing.T) {
	now := kubetest.Epoch()
	shard := object.Named(&corev1.Secret{}, "shop", ContentSecret(3))
	shard.CreationTimestamp = metav1.NewTime(now)
	shard.Annotations = map[string]string{markPrefix + "c": "ending", "somebodys": "own"}
	assert.True(t, setMark(shard, "a", markWritten, now.Add(-time.Hour)))
	assert.True(t, setMark(shard, "b", markWritten, now))
	assert.True(t, setMark(shard, "b", markEnding, now.Add(time.Hour)), "for another reason")
	assert.False(t, setMark(shard, "b", markEnding, now.Add(90*time.Minute)), "a moment ago")
	assert.ElementsMatch(t, []secret.Mark{
		{Place: secret.Place{Shard: 3, Key: "a"}, Since: now}, {Place: secret.Place{Shard: 3, Key: "b"}, Since: now.Add(time.Hour)},
		{Place: secret.Place{Shard: 3, Key: "c"}, Since: now},
	}, marksOf(shard, 3))
	assert.True(t, setMark(shard, "b", markEnding, now.Add(25*time.Hour)), "it counts anew")
}

// What a process is about to let go of stays marked when another one settles it.
func TestMarksOfOthersStay(t *testing.T) {
	_, _, v := grantedVault(t)
	place, err := v.Store(t.Context(), "shop", secretID, map[string][]byte{"password": []byte("hunter3")})
	require.NoError(t, err)
	require.NoError(t, v.Mark(t.Context(), "shop", []secret.Place{place}))
	v.Settle(t.Context(), "shop", []secret.Place{place}, nil)
	snapshot, err := v.Observe(t.Context(), "shop")
	require.NoError(t, err)
	assert.Len(t, snapshot.Marks, 1)
}
