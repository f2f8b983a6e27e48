package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// No relation gets an id that an agent has received, or that a replica has seen, although the store has a lower count since
// it was restored (TRUST.md T3).
func TestControllerGivesNoIDOfBeforeARestore(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(w.provider("db", "db.tengu.io"), w.consumer("web", consumes("db", "db")))
	w.becomes("db", "Complete")
	hello := &wire.Hello{Token: w.token(w.podOf("web"), identity.Audience), LastRelation: 41}
	hears(t, w.openStream(c.client(t), c.api.URL, hello, soon), "its relation", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 1 })
	counted := func() bool {
		record := object.Named(&v1alpha1.RelatedNamespace{}, w.namespace, v1alpha1.NamespaceRecord)
		return w.admin.Get(w.ctx, client.ObjectKeyFromObject(record), record) == nil && record.State.LastRelation == 41
	}
	assert.True(t, counted(), "before the agent is served")

	t.Log("the count is restored from a backup without one")
	require.NoError(t, w.admin.Delete(w.ctx, object.Named(&v1alpha1.RelatedNamespace{}, w.namespace, v1alpha1.NamespaceRecord)))
	w.eventually("it is counted again", counted)
	w.create(w.provider("cache", "cache.tengu.io"), w.consumer("shop", consumes("cache", "cache")))
	w.becomes("cache", "Complete")
	assert.EqualValues(t, 42, w.relationsBy("shop").State.ID)
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
}
