package settle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/events"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/interfaces"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// The snapshot of a namespace has its schema mode and the interfaces in force.
func TestObserveInterfaces(t *testing.T) {
	server := &kubetest.Strict{Kept: kubetest.Memory{}}
	server.Kept.Put(kubetest.Published(t, kubetest.Flags), kubetest.Judging("shop", "enforce"))
	known, err := interfaces.New(server.Kept)
	require.NoError(t, err)
	w := Settler{Reader: server.Kept, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch, Interfaces: known}
	s, err := w.Observe(t.Context(), "shop")
	require.NoError(t, err)
	assert.Equal(t, schema.Enforce, s.Schema)
	_, found := s.Interfaces.Find("flags", 1)
	assert.True(t, found)
}
