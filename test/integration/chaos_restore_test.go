package integration

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// The store is restored as it was before some writes and a new tenant, with higher revisions, while all agents live. Every
// reader then equals the store, no data of a living relation is gone, writes go on (TRUST.md, "Shown by"), and a new tenant
// has an id that the handlers of the bank have not received for another one.
func TestChaosRestore(t *testing.T) {
	w := newChaosWorld(t)
	w.open()
	for range 3 {
		require.NoError(t, w.tenant())
	}
	w.settled("at first")
	saved := filepath.Join(w.dir, "etcd")
	w.offline(func(etcd string) error { return os.CopyFS(saved, os.DirFS(etcd)) })
	w.settled("after the backup")
	ended := w.allRelations()[0]
	require.True(t, w.endRelation(0))
	w.settled("without a relation that the backup has")
	require.NotEmpty(t, w.lacksFiles(&ended))
	require.NoError(t, w.tenant())
	w.settled("with another tenant")

	highest := stored(w.controllerWorld, &v1alpha1.RelatedNamespace{}, v1alpha1.NamespaceRecord).State.LastRelation
	w.paused(func() {
		w.journal.Restore()
		w.restoreStore(saved)
		w.tenants--
		w.calmly("each reader equals the restored store", w.unlikeStore)
		w.calmly("the relation that exists again is in the files", func() string { return w.lacksFiles(&ended) })
		w.journal.Restored()
	})
	w.settled("after the restore")
	require.NoError(t, w.tenant())
	w.settled("with a tenant after the restore")
	id := stored(w.controllerWorld, &v1alpha1.RelatedNamespace{}, v1alpha1.NamespaceRecord).State.LastRelation
	assert.Greater(t, id, highest, "TRUST.md T3: the bank has had a relation with each id up to that")
	assert.Empty(t, w.journal.Faults())
	w.nothingLeft()
	w.recovers()
}

// lacksFiles returns a pod of a relation's requirer that has no files of it.
func (w *chaosWorld) lacksFiles(r *v1alpha1.Relation) string {
	requirer := r.Spec.Requirer
	for _, a := range w.node.all() {
		files := filepath.Join(a.root, "bindings", requirer.Endpoint+"-"+strconv.FormatInt(r.State.ID, 10))
		if _, err := os.Stat(files); a.namespace == r.Namespace && a.application == requirer.Application && err != nil {
			return err.Error()
		}
	}
	return ""
}

// paused does something while no unit writes.
func (w *chaosWorld) paused(do func()) {
	w.users.pause.Lock()
	defer w.users.pause.Unlock()
	do()
}

// restoreStore puts the folder of etcd back while all of Kubernetes and Orcon is stopped, starts them anew, and raises
// the store's revision as etcdutl snapshot restore --bump-revision does.
func (w *chaosWorld) restoreStore(saved string) {
	w.t.Helper()
	for _, c := range w.controllers {
		require.True(w.t, c.end(syscall.SIGKILL))
	}
	var stored corev1.NamespaceList
	require.NoError(w.t, w.admin.List(w.ctx, &stored))
	w.offline(restored(saved))
	w.raiseRevisions(revision(w.t, &stored))
	for _, s := range append(w.controllers, w.webhooks...) {
		s.end(syscall.SIGKILL)
		require.NoError(w.t, s.start())
	}
}

// unlikeStore returns a reader that reads something else than the store has.
func (w *chaosWorld) unlikeStore() string {
	stored := map[string]string{}
	for _, s := range w.spaces {
		var bags v1alpha1.DatabagList
		if err := w.admin.List(w.ctx, &bags, client.InNamespace(s.namespace)); err != nil {
			return err.Error()
		}
		for i := range bags.Items {
			if value := w.dataOf(&bags.Items[i])["n"]; value != "" {
				stored[registerOf(value)] = value
			}
		}
	}
	if len(stored) != 2*w.tenants {
		return strconv.Itoa(len(stored)) + " registers are stored"
	}
	return w.readAll(stored)
}
