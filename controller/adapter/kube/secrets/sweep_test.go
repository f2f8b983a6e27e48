package secrets

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// The units of an application whose record cannot be read are unknown: none of their secrets is removed
// (SAFETY.md E13).
func TestSweepKeepsWhatIsUnreadable(t *testing.T) {
	server, commits, secrets := vault()
	_, err := commits.Commit(t.Context(), kubetest.Commit(), drafts(secret.Draft{
		Write:   secret.Write{Kind: secret.Add, ID: secretID, Own: true},
		Content: map[string][]byte{"password": []byte("hunter2")},
	}))
	require.NoError(t, err)
	var app v1alpha1.RelatedApplication
	require.NoError(t, server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "db"}, &app))
	app.State.Units, app.State.NextUnit = []v1alpha1.Unit{{Number: -1, PodUID: "pod-1"}}, 2
	server.Keep(&app)
	s, err := (&Vault{Contents: secrets.Contents, Cached: server}).Observe(t.Context(), "shop")
	require.NoError(t, err)
	s.Now = s.Now.Add(48 * time.Hour)
	assert.Empty(t, secret.Sweep(s))
}
