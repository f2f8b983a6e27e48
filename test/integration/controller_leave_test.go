package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// The deletion of the definition deletes every Relation. It ends none: no agent receives an end while the
// controller still runs, and files and data stay (TRUST.md T1).
func TestDeletedDefinitionEndsNothing(t *testing.T) {
	cluster := controlplane.Start(t)
	install(t, cluster)
	w := newWorldIn(t, cluster)
	c := w.controller(-1)
	cache := w.consumer("cache", map[string]string{application.KeyProvides: "main:redis"})
	cache.Annotations = map[string]string{application.PrefixData + "main": "{host: cache, port: '6379'}"}
	w.create(cache, w.consumer("web", consumes("store:redis", "cache")))
	provider := w.speaker(c, "cache", "10.9.1.1")
	requirer := w.speaker(c, "web", "10.9.1.2")
	related := func(s *wire.Snapshot) bool {
		return len(s.GetRelations()) == 1 && len(s.GetRelations()[0].GetUnits()) == 1
	}
	hears(t, provider.stream, "the relation", related)
	hears(t, requirer.stream, "the relation", related)

	cluster.Kubectl(t, "delete", "crd", "relations.orcon.tengu.io", "--wait=false")
	w.eventually("the Relation is being deleted", func() bool {
		return len(w.relations()) == 1 && w.relations()["cache"].DeletionTimestamp != nil
	})
	w.change(cache, func() { cache.Annotations[application.PrefixData+"main"] = "{host: cache, port: '6380'}" })
	hears(t, requirer.stream, "a later change", func(s *wire.Snapshot) bool {
		assert.False(t, s.GetRelations()[0].GetEnded(), "to the requirer")
		return s.GetRelations()[0].GetBag().GetData()["port"] == "6380"
	})
	seen := &wire.Change{Relation: w.relations()["cache"].State.Identity, Set: map[string]string{"seen": "yes"}}
	require.NoError(t, requirer.commit(w.ctx, 0, seen))
	hears(t, provider.stream, "a later commit", func(s *wire.Snapshot) bool {
		assert.False(t, s.GetRelations()[0].GetEnded(), "to the provider")
		return s.GetRelations()[0].GetUnits()[0].GetBag().GetData()["seen"] == "yes"
	})
	relation := w.relations()["cache"]
	assert.Empty(t, relation.Status.EndReason)
	assert.NotEmpty(t, relation.Finalizers, "its data stays")

	require.NoError(t, w.admin.Patch(w.ctx, &relation, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
}
