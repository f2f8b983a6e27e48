package secrets

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/commits"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// A replica dies at any write of a commit, so that its author gets no answer. Another replica, whose cache does not show the
// commit yet, lists the secret that it has made and gives its content: the handler runs again, and would make another one
// (TRUST.md T10).
func TestSecretsOfACommitWithoutAnswer(t *testing.T) {
	committed := 0
	for most := 1; ; most++ {
		server, all, secrets := vault()
		server.Kept.Put(kubetest.Changed("one")...)
		secrets.Deliveries = commits.Pending{Cached: kubetest.Memory{}, Commits: all}
		server.Most = most
		add := adds(secretID, "hunter2")
		add.Label = "admin"
		_, err := all.Commit(t.Context(), kubetest.Commit(kubetest.Change("one", false, "password", "secret:"+secretID)), drafts(add))
		server.Most = 0
		if !isCommitted(t, server) && err != nil {
			continue
		}
		committed++
		listed, failed := secrets.Secrets(t.Context(), "shop", "db", 1, "pod-1")
		require.NoError(t, failed)
		assert.Len(t, listed, 1, "after %d writes", most)
		if err == nil {
			break
		}
	}
	assert.Greater(t, committed, 1, "it has died between the commit and the end")
}

// isCommitted reports whether an outbox holds a transaction, or a secret is stored.
func isCommitted(t *testing.T, server *kubetest.Strict) bool {
	t.Helper()
	var bags v1alpha1.DatabagList
	require.NoError(t, server.Kept.List(t.Context(), &bags))
	for i := range bags.Items {
		if convert.Holds(&bags.Items[i]) {
			return true
		}
	}
	var all v1alpha1.RelatedSecretList
	require.NoError(t, server.Kept.List(t.Context(), &all))
	return len(all.Items) > 0
}

// The same of its content, by ID and by the owner's label.
func TestContentOfACommitWithoutAnswer(t *testing.T) {
	for name, by := range map[string]struct{ id, label string }{"ID": {id: secretID}, "Label": {label: "admin"}} {
		t.Run(name, func(t *testing.T) {
			server, all, secrets := vault()
			server.Kept.Put(kubetest.Changed("one")...)
			secrets.Deliveries = commits.Pending{Cached: kubetest.Memory{}, Commits: all}
			add := adds(secretID, "hunter2")
			add.Label = "admin"
			for most := 1; !isCommitted(t, server); most++ {
				server.Most = server.Writes + most
				_, err := all.Commit(t.Context(), kubetest.Commit(kubetest.Change("one", false, "password", "secret:"+secretID)), drafts(add))
				require.ErrorIs(t, err, kubetest.ErrGone)
			}
			server.Most = 0
			asks := []secret.Visitor{{Unit: secret.Unit{Application: "db", Number: "1", Leads: true}, Namespace: "shop"}}
			read, err := secrets.Secret(t.Context(), asks, by.id, secret.Query{Label: by.label})
			require.NoError(t, err)
			assert.Equal(t, "hunter2", string(read.Content["password"]))
		})
	}
}
