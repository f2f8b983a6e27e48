package commits

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/interfaces"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// knownTo returns the interfaces of a server.
func knownTo(t *testing.T, server *kubetest.Strict) *interfaces.Catalogue {
	t.Helper()
	i, err := interfaces.New(server.Kept)
	require.NoError(t, err)
	i.Writer, i.Now = server, kubetest.Epoch
	return i
}

// A write that the interface does not allow is refused whole: a secret in plain text always (RELATIONS.md P5),
// all else if the namespace enforces. The error names the place in the interface, not the value (RELATIONS.md
// P4).
func TestCommitFits(t *testing.T) {
	tests := map[string]struct {
		why   string
		mode  string
		own   bool
		key   string
		value string
		at    string
	}{
		"Secret":        {why: "never", key: "token", value: "hunter2", at: "flags@1 provider/application/schema/properties/token"},
		"SecretOff":     {why: "nor where nobody looks", mode: "off", key: "token", value: "hunter2", at: "flags@1 provider/application/schema/properties/token"},
		"Reference":     {why: "that is the way", mode: "enforce", key: "token", value: "secret:c6b9fk2t7m0q3v8x1z5d"},
		"Emptied":       {why: "RELATIONS.md P3: nothing is no plain text", mode: "enforce", key: "token"},
		"Warned":        {why: "stored, and told on the Relation", key: "url", value: "hunter2"},
		"Enforced":      {why: "refused where the namespace says so", mode: "enforce", key: "url", value: "hunter2", at: "flags@1 provider/application/schema/properties/url/pattern"},
		"Unit":          {why: "another bag, of which nothing is said", mode: "enforce", own: true, key: "url", value: "x"},
		"UnknownFields": {why: "only add fields", mode: "enforce", key: "more", value: "x"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			server, commits := shop()
			server.Kept.Put(kubetest.Published(t, kubetest.Flags), kubetest.Judging("shop", schema.Mode(tc.mode)))
			commits.Interfaces = knownTo(t, server)
			change := kubetest.Change("one", tc.own, tc.key, tc.value, "refresh", "30")
			change.Role, change.Interface = application.Provider, "flags"
			_, err := commits.Commit(t.Context(), kubetest.Commit(change, kubetest.Change("two", false, "fine", "yes")), nil)
			if tc.at == "" {
				require.NoError(t, err, tc.why)
				return
			}
			require.ErrorIs(t, err, transaction.ErrInvalid, tc.why)
			assert.Contains(t, err.Error(), tc.at)
			assert.NotContains(t, err.Error(), "hunter2")
			assert.Empty(t, kubetest.BagsOf(t, server), "refused whole")
		})
	}
}
