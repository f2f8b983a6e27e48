package integration

import (
	"cmp"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// Programs of the oldest supported commit are replaced while relations live: the controllers, then the webhooks, then by
// and by the agents. Old agents read and write, answer ends, and outlive the death of a replica, alone and beside new ones
// (TRUST.md A6).
func TestRollingUpgrade(t *testing.T) {
	sources := controlplane.OldestSupported(t)
	programs := map[string]string{}
	for _, name := range []string{"relation-agent", "relations-controller", "relations-mutating-webhook"} {
		programs[name] = controlplane.Built(t, sources, name)
	}
	w := newChaosWorldOf(t, func(name string) string { return cmp.Or(programs[name], controlplane.Binary(t, name)) })
	w.open()
	for range 3 {
		require.NoError(t, w.tenant())
	}
	w.settled("with old programs alone")
	clear(programs)
	w.upgrade("relations-controller", w.controllers)
	w.settled("with old agents")
	require.True(t, w.controllers[0].restart(syscall.SIGKILL))
	require.True(t, w.endRelation(0))
	w.settled("after an end")

	w.node.program = w.program("relation-agent")
	w.upgrade("relations-mutating-webhook", w.webhooks)
	require.NoError(t, w.tenant())
	w.settled("with agents of both")
	require.True(t, w.endRelation(0))
	w.settled("after another end")
	assert.Empty(t, w.journal.Faults())
	w.nothingLeft()
}

// upgrade replaces one replica after the other.
func (w *chaosWorld) upgrade(name string, replicas []*chaosReplica) {
	w.t.Helper()
	for _, r := range replicas {
		require.True(w.t, r.end(syscall.SIGTERM))
		r.program = w.program(name)
		require.NoError(w.t, r.start())
		controlplane.Eventually(w.t, func() bool { return r.get("/readyz") != "" }, soon, "%s is ready", r.log)
	}
}

// keepsakes are what a namespace must not lose.
type keepsakes struct {
	relations map[string]relationStored
	// sides has what sides keep, bags the contents of databags and units the number of each pod, by name.
	sides map[string]v1alpha1.RelationSideSpec
	bags  map[string]map[string]string
	units map[types.UID]int64
}

// relationStored is what a relation must not lose.
type relationStored struct {
	identity string
	id       int64
}

// keepsakes returns what the namespace holds.
func (w *controllerWorld) keepsakes() keepsakes {
	w.t.Helper()
	s := keepsakes{map[string]relationStored{}, map[string]v1alpha1.RelationSideSpec{}, map[string]map[string]string{}, map[types.UID]int64{}}
	var relations v1alpha1.RelationList
	var sides v1alpha1.RelationSideList
	var bags v1alpha1.DatabagList
	var apps v1alpha1.RelatedApplicationList
	for _, list := range []client.ObjectList{&relations, &sides, &bags, &apps} {
		require.NoError(w.t, w.admin.List(w.ctx, list, client.InNamespace(w.namespace)))
	}
	for _, r := range relations.Items {
		s.relations[r.Name] = relationStored{r.State.Identity, r.State.ID}
	}
	for _, side := range sides.Items {
		s.sides[side.Name] = side.Spec
	}
	for _, b := range bags.Items {
		s.bags[b.Name] = b.State.Data
	}
	for _, a := range apps.Items {
		for _, u := range a.State.Units {
			s.units[types.UID(u.PodUID)] = u.Number
		}
	}
	return s
}

// installFrom installs the kinds of a folder with sources, and what its controller may do.
func installFrom(t *testing.T, cluster *controlplane.Cluster, sources string) {
	t.Helper()
	cluster.Kubectl(t, "apply", "-k", filepath.Join(sources, "deployment", "crd"))
	cluster.Established(t)
	cluster.Kubectl(t, "apply", "-f", filepath.Join(sources, "deployment", "rbac", "relations-controller.yaml"))
}

// The controller takes over what the oldest supported one has stored: relations with their identities and ids, ends
// that are owed, units and data; and goes on counting where that one stopped (TRUST.md A6).
func TestUpgradeInPlace(t *testing.T) {
	t.Parallel()
	sources := controlplane.OldestSupported(t)
	cluster := controlplane.Start(t)
	installFrom(t, cluster, sources)
	w := newWorldIn(t, cluster)
	kubeconfig := w.kubeconfigOf(controllerUser)
	old := w.startProcess(controlplane.Built(t, sources, "relations-controller"), kubeconfig)
	db := w.consumer("db", map[string]string{
		application.KeyProvides: "main:pg", application.KeyHandlers: "/handlers", application.PrefixData + "main": "host: db",
	})
	w.create(db, w.provider("redis-endpoint", "redis.example.org"))
	for _, name := range []string{"web", "office", "gone"} {
		w.create(w.consumer(name, consumes("store:pg", "db")))
	}
	w.create(w.consumer("cached", consumes("redis", "redis-endpoint")))
	w.eventually("four relations with handlers that know them", func() bool { return len(w.keepsakes().relations) == 4 && len(w.keepsakes().sides) == 3 })
	gone := w.relationsBy("gone")
	require.NoError(t, w.admin.Delete(w.ctx, &gone))
	w.eventually("an end that is owed", func() bool {
		for _, s := range w.sidesOf(gone.State.Identity) {
			return s.State.End != nil
		}
		return false
	})
	w.becomes("redis-endpoint", "Complete")
	w.eventually("the Relation that ended is gone", func() bool { return len(w.keepsakes().relations) == 3 })
	require.NoError(t, old.cmd.Process.Signal(syscall.SIGTERM))
	_ = old.cmd.Wait()
	before := w.keepsakes()

	require.NotEmpty(t, before.bags)
	require.NotEmpty(t, before.units)

	install(t, cluster)
	head := w.startProcess(controlplane.Binary(t, "relations-controller"), kubeconfig)
	w.create(w.provider("sse-endpoint", "sse.example.org"), w.consumer("next", consumes("sse", "sse-endpoint")))
	w.becomes("sse-endpoint", "Complete")
	after := w.keepsakes()
	for name, r := range before.relations {
		assert.Equal(t, r, after.relations[name], name)
	}
	for name, s := range before.sides {
		assert.Equal(t, s, after.sides[name], name)
	}
	for name, b := range before.bags {
		assert.Equal(t, b, after.bags[name], name)
	}
	for pod, number := range before.units {
		assert.Equal(t, number, after.units[pod], pod)
	}
	assert.EqualValues(t, 5, w.relationsBy("next").State.ID, "no id is given again")
	owed := w.sidesOf(gone.State.Identity)
	require.NotEmpty(t, owed)
	for _, s := range owed {
		assert.NotNil(t, s.State.End, "what was owed is owed")
	}
	assert.NotContains(t, head.said.String(), "forbidden")
	assert.NotContains(t, head.said.String(), "panic")
}
