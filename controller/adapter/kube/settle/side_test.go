package settle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/events"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A Relation was created by a write that had no answer, and the cache does not show it. The next decision, with another
// identity, gives it no side: sides of an identity that no Relation has would never go, and the Relation would never have
// its own (TRUST.md T0).
func TestNoSideOfAnotherIdentity(t *testing.T) {
	r, err := convert.ToRelation(kubetest.Related("shop", "blog", "shop", "db"))
	require.NoError(t, err)
	counted := object.Named(&v1alpha1.RelatedNamespace{}, "shop", v1alpha1.NamespaceRecord)
	counted.State.LastRelation = 8
	counted.SetResourceVersion("1")
	keep := func(identity string) error {
		made := convert.ForPair("shop", relation.Pair{Key: r.Key, Interface: "db"})
		made.State.Identity = "first"
		cache, live := kubetest.Memory{}, kubetest.Memory{}
		cache.Put(counted)
		live.Put(made)
		server := &kubetest.Strict{Kept: live}
		w := Settler{Reader: cache, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch}
		err := w.Apply(t.Context(), "shop", relation.Keep{Side: relation.Side{
			Key: r.Key, Role: application.Provider, Relation: identity, ID: 8, Interface: "db",
		}})
		if err != nil {
			assert.Zero(t, server.Writes)
		}
		return err
	}
	require.Error(t, keep("second"), "it is decided again, with the Relation in sight")
	assert.NoError(t, keep("first"), "the side of the Relation that is there is kept")
}
