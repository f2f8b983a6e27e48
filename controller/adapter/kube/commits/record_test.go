package commits

import (
	"strings"
	"testing"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/settle"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/events"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// A commit is recorded by the same write, with writer, cause and changes: of one bag and of several, also when
// another process delivers it (SAFETY.md E11, P2).
func TestCommitIsRecorded(t *testing.T) {
	server, commits := shop()
	now := kubetest.Epoch()
	commits.Now = func() time.Time { now = now.Add(time.Second); return now }
	because := func(cause string, changes ...transaction.Change) transaction.Commit {
		commit := kubetest.Commit(changes...)
		commit.Cause = cause
		return commit
	}
	_, err := commits.Commit(t.Context(), because("relation-set", kubetest.Change("one", false, "user", "a", "port", "1")), nil)
	require.NoError(t, err)
	assert.Equal(t, 1, server.Writes, "neither the bag's creation nor the record is a write of its own")
	server.Most = 2 // the outbox is written
	_, err = commits.Commit(t.Context(), because("main-relation-changed (web/0)", kubetest.Change("one", false, "user", "b", "port", ""), kubetest.Change("one", true, "ready", "yes")), nil)
	require.ErrorIs(t, err, kubetest.ErrGone)
	server.Most = 0
	next := settle.Settler{Reader: server.Kept, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: commits.Now, Outboxes: commits}
	for range 2 {
		require.NoError(t, next.Apply(t.Context(), "shop", relation.Deliver{Outbox: relation.Outbox{Application: "db", Unit: "1"}}), "twice is once")
	}
	assert.Equal(t, []string{
		"1 db/1 relation-set: one db term:3 +map[port:1 user:a] ~map[] -[]",
		"2 db/1 main-relation-changed (web/0): one db term:3 +map[] ~map[user:b] -[port]",
		"1 db/1 main-relation-changed (web/0): one db/1 term:0 +map[ready:yes] ~map[] -[]",
	}, kubetest.Entries(t, server))
	var list v1alpha1.DatabagList
	require.NoError(t, server.Kept.List(t.Context(), &list))
	transactions := map[string]int{}
	for _, b := range list.Items {
		r, err := convert.ToHistory(&b)
		require.NoError(t, err)
		for _, e := range r.Entries {
			transactions[e.Transaction]++
		}
	}
	assert.Len(t, transactions, 2, "one of a single bag has no name")
	assert.Equal(t, 1, transactions[""])
}

// The values of secret fields are in no entry, and are removed from earlier ones (RELATIONS.md P5).
func TestSecretFieldsAreNotRecorded(t *testing.T) {
	server, commits := shop()
	commits.Interfaces = knownTo(t, server)
	change := kubetest.Change("one", false, "host", "db", "password", "secret:c6b9fk2t7m0q3v8x1z5d")
	change.Interface, change.Role = "redis", application.Provider
	_, err := commits.Commit(t.Context(), kubetest.Commit(change), nil)
	require.NoError(t, err)
	own := change
	own.Own, own.Set = true, map[string]string{"ready": "yes"}
	change.Set = map[string]string{"password": "secret:aaaaaaaaaaaaaaaaaaaa"}
	_, err = commits.Commit(t.Context(), kubetest.Commit(change, own), nil)
	require.NoError(t, err)
	lines := strings.Join(kubetest.Entries(t, server), "\n")
	assert.Contains(t, lines, "+map[host:db password:]")
	assert.Contains(t, lines, "~map[password:]")
	assert.NotContains(t, lines, "secret:")
}
