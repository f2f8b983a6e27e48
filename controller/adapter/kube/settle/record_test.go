package settle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Declared data is recorded too, although no cache has the record. A later writer is not overtaken (SAFETY.md
// D11).
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
			assert.Empty(t, cached.State.Record)
			seen.Put(cached)
		}
	}
	publish := func(data map[string]string) error {
		w := Settler{Reader: seen, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch}
		bag.Data = data
		return w.Apply(t.Context(), "shop", relation.Publish{Databag: bag, Secret: []string{"token"}})
	}
	for i, host := range []string{"a", "b"} {
		require.NoError(t, publish(map[string]string{"host": host, "token": "t-" + host}))
		assert.Equal(t, i+1, server.Writes, "SAFETY.md D12: each is one write, the first one too")
		see()
	}
	want := []string{
		"1 controller declared:  db term:0 +map[host:a token:] ~map[] -[]",
		"2 controller declared:  db term:0 +map[] ~map[host:b token:] -[]",
	}
	assert.Equal(t, want, kubetest.Entries(t, server))
	stale := object.Named(&v1alpha1.Databag{}, key.Namespace, key.Name)
	require.NoError(t, server.Get(t.Context(), key, stale))
	stale.ResourceVersion = "1"
	seen.Put(stale)
	require.Error(t, publish(map[string]string{"host": "c"}))
	assert.Equal(t, want, kubetest.Entries(t, server))
}
