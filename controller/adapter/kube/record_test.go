package kube

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// recordedIn returns what the records of all bags say, one line an entry, and proves
// that each leads to its bag.
func recordedIn(t *testing.T, s *kubetest.Strict) []string {
	t.Helper()
	var list v1alpha1.DatabagList
	require.NoError(t, s.Kept.List(t.Context(), &list))
	var records []conversation.Record
	for _, b := range list.Items {
		r, err := convert.ToHistory(&b)
		require.NoError(t, err)
		to, err := r.Replay(convert.ToAddress(&b))
		require.NoError(t, err)
		assert.Empty(t, to.Differs(b.Status.Data), b.Name)
		records = append(records, r)
	}
	var lines []string
	for _, e := range conversation.Merge(records...) {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%d %s %s: %s %s term:%d +%v ~%v -%v", e.Sequence, e.Who, e.Cause, e.Relation, e.Owner, e.Term, e.Added, e.Changed, e.Removed)))
	}
	return lines
}

// What is committed is recorded by the same write: who, why and what, of one bag and
// of several, also where another process delivers it (SAFETY.md E11, P2).
func TestCommitIsRecorded(t *testing.T) {
	server, commits := shop()
	now := kubetest.Epoch()
	commits.Now = func() time.Time { now = now.Add(time.Second); return now }
	because := func(cause string, changes ...transaction.Change) transaction.Commit {
		commit := answer(changes...)
		commit.Cause = cause
		return commit
	}
	_, err := commits.Commit(t.Context(), because("relation-set", saying("one", false, "user", "a", "port", "1")), nil)
	require.NoError(t, err)
	assert.Equal(t, 2, server.Writes, "the bag is made and written: the record is no write of its own")
	server.Most = 4
	_, err = commits.Commit(t.Context(), because("main-relation-changed (web/0)", saying("one", false, "user", "b", "port", ""), saying("one", true, "ready", "yes")), nil)
	require.ErrorIs(t, err, kubetest.ErrGone)
	server.Most = 0
	next := World{Reader: server.Kept, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: commits.Now}
	for range 2 {
		require.NoError(t, next.Apply(t.Context(), "shop", relation.Deliver{Outbox: relation.OutboxName("db", "1")}), "twice is once")
	}
	assert.Equal(t, []string{
		"1 db/1 relation-set: one db term:3 +map[port:1 user:a] ~map[] -[]",
		"2 db/1 main-relation-changed (web/0): one db term:3 +map[] ~map[user:b] -[port]",
		"1 db/1 main-relation-changed (web/0): one db/1 term:0 +map[ready:yes] ~map[] -[]",
	}, recordedIn(t, server))
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

// The values of the fields that the interface says are secret are in no entry, and
// go from what was recorded before (RELATIONS.md P5).
func TestSecretFieldsAreNotRecorded(t *testing.T) {
	server, commits := shop()
	commits.Interfaces = knownTo(t, server)
	change := saying("one", false, "host", "db", "password", "secret:c6b9fk2t7m0q3v8x1z5d")
	change.Interface, change.Role = "redis", application.Provider
	_, err := commits.Commit(t.Context(), answer(change), nil)
	require.NoError(t, err)
	own := change
	own.Own, own.Set = true, map[string]string{"ready": "yes"}
	change.Set = map[string]string{"password": "secret:aaaaaaaaaaaaaaaaaaaa"}
	_, err = commits.Commit(t.Context(), answer(change, own), nil)
	require.NoError(t, err)
	lines := strings.Join(recordedIn(t, server), "\n")
	assert.Contains(t, lines, "+map[host:db password:]")
	assert.Contains(t, lines, "~map[password:]")
	assert.NotContains(t, lines, "secret:")
}

// What is declared is recorded too, although the record is in no cache; who wrote it
// after it was seen is not overtaken (SAFETY.md D11).
func TestDeclaredDataIsRecorded(t *testing.T) {
	server := &kubetest.Strict{Kept: kubetest.Memory{}}
	bag := relation.Databag{Application: "db", Endpoint: "main"}
	key := client.ObjectKey{Namespace: "shop", Name: bag.Name()}
	seen := kubetest.Memory{}
	see := func() {
		cached := object.Named(&v1alpha1.Databag{}, key.Namespace, key.Name)
		if err := server.Kept.Get(t.Context(), key, cached); err == nil {
			_, err = object.CacheOptions().DefaultTransform(cached)
			require.NoError(t, err)
			assert.Empty(t, cached.Status.Record)
			seen.Put(cached)
		}
	}
	publish := func(data map[string]string) error {
		w := World{Reader: seen, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch}
		bag.Data = data
		return w.Apply(t.Context(), "shop", relation.Publish{Databag: bag, Secret: []string{"token"}})
	}
	for _, host := range []string{"a", "b"} {
		require.NoError(t, publish(map[string]string{"host": host, "token": "t-" + host}))
		see()
	}
	want := []string{
		"1 controller declared:  db term:0 +map[host:a token:] ~map[] -[]",
		"2 controller declared:  db term:0 +map[] ~map[host:b token:] -[]",
	}
	assert.Equal(t, want, recordedIn(t, server))
	stale := object.Named(&v1alpha1.Databag{}, key.Namespace, key.Name)
	require.NoError(t, server.Get(t.Context(), key, stale))
	stale.ResourceVersion = "1"
	seen.Put(stale)
	require.Error(t, publish(map[string]string{"host": "c"}))
	assert.Equal(t, want, recordedIn(t, server))
}
