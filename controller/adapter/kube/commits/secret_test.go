package commits

import (
	"context"
	"maps"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

const (
	secretID = "9m4e2mr0ui3e8a215n4g"
	otherID  = "aaaae2mr0ui3e8a215n4"
)

// contents is a ContentStore in memory.
type contents map[secret.Place]string

func (c contents) Store(_ context.Context, _, id string, content map[string][]byte) (secret.Place, error) {
	place := secret.Place{Key: id + "-" + strconv.Itoa(len(c))}
	c[place] = string(content["password"])
	return place, nil
}

func (c contents) Mark(context.Context, string, []secret.Place) error { return nil }

func (c contents) Settle(_ context.Context, _ string, _, unreachable []secret.Place) {
	for _, p := range unreachable {
		delete(c, p)
	}
}

// keeping returns a shop whose commits keep contents.
func keeping() (*kubetest.Strict, *Commits, contents) {
	server, commits := shop()
	kept := contents{}
	commits.Contents = kept
	return server, commits, kept
}

func write(kind secret.Kind, id, password string) secret.Draft {
	draft := secret.Draft{Write: secret.Write{Kind: kind, ID: id}}
	if password != "" {
		draft.Content = map[string][]byte{"password": []byte(password)}
	}
	return draft
}

// secretOf returns a stored secret.
func secretOf(t *testing.T, server *kubetest.Strict, id string) secret.Secret {
	t.Helper()
	s := object.Named(&v1alpha1.RelatedSecret{}, "shop", id)
	require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(s), s))
	return convert.ToSecret(s)
}

// The content of a secret goes to the store alone, and leaves it when it is out of reach (SAFETY.md S2).
func TestCommitSecrets(t *testing.T) {
	server, commits, kept := keeping()
	_, err := commits.Commit(t.Context(), kubetest.Commit(), []secret.Draft{write(secret.Add, secretID, "one")})
	require.NoError(t, err)
	assert.Equal(t, 1, server.Writes, "it is created with its state")
	assert.Equal(t, secret.Owner{Application: "db"}, secretOf(t, server, secretID).Owner)
	first := secretOf(t, server, secretID).Places()
	require.Len(t, first, 1)
	assert.Equal(t, "one", kept[first[0]])

	_, err = commits.Commit(t.Context(), kubetest.Commit(), []secret.Draft{write(secret.Set, secretID, "two")})
	require.NoError(t, err)
	assert.Equal(t, 2, server.Writes)
	assert.NotContains(t, kept, first[0], "no unit has read the first revision")
	assert.Len(t, kept, 1)

	_, err = commits.Commit(t.Context(), kubetest.Commit(), []secret.Draft{write(secret.Remove, secretID, "")})
	require.NoError(t, err)
	assert.Empty(t, kept)
	assert.True(t, secret.IsTombstone(secretOf(t, server, secretID)))
	_, err = commits.Commit(t.Context(), kubetest.Commit(), []secret.Draft{write(secret.Set, secretID, "three")})
	assert.Equal(t, conversation.Gone, conversation.RefusalOf(err))
}

// A secret is removed with its object, unless it is so young that a process may be late with its creation (TRUST.md T10).
func TestRemovalOfAnOldSecret(t *testing.T) {
	server, commits, kept := keeping()
	_, err := commits.Commit(t.Context(), kubetest.Commit(), []secret.Draft{write(secret.Add, secretID, "one")})
	require.NoError(t, err)
	old := object.Named(&v1alpha1.RelatedSecret{}, "shop", secretID)
	require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(old), old))
	old.CreationTimestamp = metav1.NewTime(commits.Now().Add(-time.Hour))
	server.Kept.Put(old)
	_, err = commits.Commit(t.Context(), kubetest.Commit(), []secret.Draft{write(secret.Remove, secretID, "")})
	require.NoError(t, err)
	assert.Empty(t, kept)
	require.Error(t, server.Get(t.Context(), client.ObjectKeyFromObject(old), old))
}

// A unit writes about a secret whose creation it has committed, before another process has delivered that (TRUST.md T10).
func TestSecretOfAnUndeliveredTransaction(t *testing.T) {
	for _, next := range []secret.Draft{write(secret.Set, secretID, "two"), write(secret.Remove, secretID, "")} {
		t.Run(string(next.Kind), func(t *testing.T) {
			server, commits, _ := keeping()
			server.Kept.Put(kubetest.Changed("one")...)
			server.Most = 1 // the outbox is written
			made := kubetest.Commit(kubetest.Change("one", false, "a", "1"))
			_, err := commits.Commit(t.Context(), made, []secret.Draft{write(secret.Add, secretID, "one")})
			require.ErrorIs(t, err, kubetest.ErrGone)
			server.Most = 0
			_, err = commits.Commit(t.Context(), kubetest.Commit(), []secret.Draft{next})
			require.NoError(t, err)
			stored := secretOf(t, server, secretID)
			assert.Equal(t, next.Kind == secret.Remove, secret.IsTombstone(stored))
		})
	}
}

// What a unit may not do to a secret is refused before anything is stored.
func TestCommitRefusesSecrets(t *testing.T) {
	labelled := write(secret.Add, secretID, "one")
	labelled.Label = "admin"
	again := write(secret.Add, otherID, "two")
	again.Label = "admin"
	member := kubetest.Commit()
	member.Unit, member.PodUID, member.Term = 2, "pod-2", 0
	tests := map[string]struct {
		why    string
		commit transaction.Commit
		drafts []secret.Draft
		want   conversation.Refusal
	}{
		"NoID":      {why: "no secret has it", commit: kubetest.Commit(), drafts: []secret.Draft{write(secret.Set, "x", "two")}, want: conversation.Gone},
		"NotLeader": {why: "the secret is the application's", commit: member, drafts: []secret.Draft{write(secret.Set, secretID, "two")}, want: conversation.Forbidden},
		"Label":     {why: "a label names one secret", commit: kubetest.Commit(), drafts: []secret.Draft{again}, want: conversation.Invalid},
		"Second":    {why: "all or nothing", commit: kubetest.Commit(), drafts: []secret.Draft{write(secret.Add, otherID, "two"), write(secret.Set, "x", "two")}, want: conversation.Gone},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, commits, kept := keeping()
			_, err := commits.Commit(t.Context(), kubetest.Commit(), []secret.Draft{labelled})
			require.NoError(t, err)
			before, writes := maps.Clone(kept), server.Writes
			_, err = commits.Commit(t.Context(), test.commit, test.drafts)
			assert.Equal(t, test.want, conversation.RefusalOf(err), test.why)
			assert.Equal(t, before, kept)
			assert.Equal(t, writes, server.Writes)
		})
	}
}

// A label names one secret also where the unit's last transaction, which makes that, is not delivered yet: its author got no
// answer, and makes another one.
func TestLabelOfASecretThatIsNotDelivered(t *testing.T) {
	server, commits, _ := keeping()
	first, again := write(secret.Add, otherID, "one"), write(secret.Add, secretID, "two")
	first.Label, again.Label = "admin", "admin"
	server.Most = 1 // the outbox is written
	_, err := commits.Commit(t.Context(), kubetest.Commit(kubetest.Change("one", false, "password", otherID)), []secret.Draft{first})
	require.ErrorIs(t, err, kubetest.ErrGone)
	server.Most = 0
	_, err = commits.Commit(t.Context(), kubetest.Commit(), []secret.Draft{again})
	assert.Equal(t, conversation.Invalid, conversation.RefusalOf(err), "%v", err)
	assert.Equal(t, "admin", secretOf(t, server, otherID).Label)
	require.Error(t, server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: secretID}, &v1alpha1.RelatedSecret{}))
}

// The content of a transaction that is refused before it could commit is removed at once.
func TestRefusedContentIsRemoved(t *testing.T) {
	server, commits, kept := keeping()
	_, err := commits.Commit(t.Context(), kubetest.Commit(), []secret.Draft{write(secret.Add, secretID, "one")})
	require.NoError(t, err)
	s := object.Named(&v1alpha1.RelatedSecret{}, "shop", secretID)
	require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(s), s))
	s.State.Term = 9
	require.NoError(t, server.Update(t.Context(), s))
	before := maps.Clone(kept)
	_, err = commits.Commit(t.Context(), kubetest.Commit(), []secret.Draft{write(secret.Set, secretID, "two")})
	require.ErrorIs(t, err, transaction.ErrDeposed)
	assert.Equal(t, before, kept)
}

// A writer that met another takes its turn at the secret, and ends it: what the other wrote stays.
func TestSecretWritersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, commits, _ := keeping()
		_, err := commits.Commit(t.Context(), kubetest.Commit(), []secret.Draft{write(secret.Add, secretID, "one")})
		require.NoError(t, err)
		turns := &object.Turns{}
		late := &slow{Strict: server, name: secretID, before: func() {
			s := object.Named(&v1alpha1.RelatedSecret{}, "shop", secretID)
			require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(s), s))
			read := convert.ToSecret(s)
			read.Readers = []secret.Reader{{Application: "blog", Unit: "0", Revision: 1}}
			convert.SetSecret(s, read)
			require.NoError(t, server.Update(t.Context(), s))
		}}
		commits.Reader, commits.Writer, commits.Turns = late, late, turns
		_, err = commits.Commit(t.Context(), kubetest.Commit(), []secret.Draft{write(secret.Set, secretID, "two")})
		require.NoError(t, err)
		stored := secretOf(t, server, secretID)
		assert.Equal(t, 2, stored.Latest)
		assert.Len(t, stored.Readers, 1)
		end, err := turns.Take(t.Context(), "shop/"+secretID)
		require.NoError(t, err, "the turn has ended")
		end()
	})
}
