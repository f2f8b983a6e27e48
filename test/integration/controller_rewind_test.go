package integration

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// offline stops the whole control plane, calls do with etcd's folder, and starts it.
func (w *controllerWorld) offline(do func(etcd string) error) {
	w.t.Helper()
	clients := []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}
	for _, c := range clients {
		w.cluster.Kill(w.t, c)
	}
	w.cluster.Stop(w.t, "etcd")
	require.NoError(w.t, do(filepath.Join(w.cluster.Dir, "etcd")))
	for _, c := range append([]string{"etcd"}, clients...) {
		w.cluster.StartComponent(w.t, c)
	}
}

// An etcd that is restored has earlier revisions than the agents have used, and than the watches of the controller go on
// from. The controller begins anew, and an agent is told, once, that the store went back; then it sees changes again
// (TRUST.md T6).
func TestControllerAfterARestoreOfEtcd(t *testing.T) {
	w, p := newBinaryWorld(t)
	backup := filepath.Join(t.TempDir(), "etcd")
	w.offline(func(etcd string) error { return os.CopyFS(backup, os.DirFS(etcd)) })

	consumer := w.converse(p, nil)
	for _, host := range []string{"db2.tengu.io", "db3.tengu.io", "db4.tengu.io"} {
		w.move(consumer, host)
	}
	w.raiseRevisions(revision(t, w.db) + 500) // more than components write when they start
	w.change(w.db, func() { w.db.Spec.ExternalName = "db5.tengu.io" })
	used := hears(t, consumer, "the last change", hostIs("db5.tengu.io")).GetRevisions()

	w.offline(restored(backup))
	began := time.Now()
	w.eventually("it begins anew", func() bool {
		return strings.Contains(p.said.String(), "the store was restored to an earlier state")
	})
	require.Error(t, p.cmd.Wait())
	t.Logf("from the restored API server to the end of the process: %s", time.Since(began).Round(10*time.Millisecond))

	p = w.replica() // as the kubelet does
	again := w.converse(p, used)
	first := hears(t, again, "the restored data", hostIs("db.tengu.io"))
	assert.True(t, first.GetWentBack())
	assert.Less(t, first.GetRevisions()["databags"], used["databags"])
	w.change(w.db, func() { w.db.Spec.ExternalName = "db6.tengu.io" })
	changed := hears(t, again, "a change", hostIs("db6.tengu.io"))
	assert.False(t, changed.GetWentBack(), "once a connection")

	t.Log("an agent that has used nothing later is told nothing")
	other := w.converse(p, first.GetRevisions())
	assert.False(t, hears(t, other, "the data", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 1 }).GetWentBack())
	w.recovers()
}

// raiseRevisions writes until the store's revision is above another one.
func (w *controllerWorld) raiseRevisions(above int) {
	w.t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: w.meta("revision")}
	w.create(m)
	first := revision(w.t, m)
	require.Less(w.t, first, above, "the store is earlier")
	for now := first; now <= above; now = revision(w.t, m) {
		m.Data = map[string]string{"after": strconv.Itoa(now)}
		require.NoError(w.t, w.admin.Update(w.ctx, m))
	}
}

// revision returns the revision of an object or a list.
func revision(t *testing.T, of interface{ GetResourceVersion() string }) int {
	t.Helper()
	n, err := strconv.Atoi(of.GetResourceVersion())
	require.NoError(t, err)
	return n
}

// restored returns a change of etcd's folder to a copy of it.
func restored(backup string) func(etcd string) error {
	return func(etcd string) error { return errors.Join(os.RemoveAll(etcd), os.CopyFS(etcd, os.DirFS(backup))) }
}
