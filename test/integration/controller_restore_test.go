package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/secrets"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// sweep sweeps the namespace's secrets with the controller's own roles, as if a week had passed.
func (w *controllerWorld) sweep() {
	w.t.Helper()
	as, err := client.New(w.asController(), client.Options{Scheme: w.scheme})
	require.NoError(w.t, err)
	inAWeek := func() time.Time { return time.Now().Add(7 * 24 * time.Hour) }
	vault := &secrets.Vault{Contents: secrets.Contents{Reader: as, Writer: as, Now: inAWeek}}
	for range 3 {
		snapshot, err := vault.Observe(w.ctx, w.namespace)
		require.NoError(w.t, err)
		for _, d := range secret.Sweep(snapshot) {
			require.NoError(w.t, vault.Apply(w.ctx, w.namespace, d))
		}
	}
}

// stored reads an object of the namespace.
func stored[T client.Object](w *controllerWorld, o T, name string) T {
	w.t.Helper()
	require.NoError(w.t, w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, o))
	return o
}

// restore makes an object anew, as a restore from a backup does.
func (w *controllerWorld) restore(o client.Object) {
	w.t.Helper()
	o.SetResourceVersion("")
	o.SetUID("")
	o.SetCreationTimestamp(metav1.Time{})
	w.create(o)
}

// grantedSecret has db make a secret, grant it to web, and web read it. It returns a function with which web reads it
// again.
func (w *controllerWorld) grantedSecret() (reads func(why string)) {
	w.t.Helper()
	c := w.controller(-1)
	w.create(w.consumer("db", map[string]string{application.KeyProvides: "main:pg"}), w.consumer("web", consumes("store:pg", "db")))
	web, db := w.speaker(c, "web", "10.9.0.1"), w.speaker(c, "db", "10.9.0.2")
	uid := hears(w.t, web.stream, "its relation", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 1 }).GetRelations()[0].GetUid()
	hears(w.t, db.stream, "its relation", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 1 && s.GetUnit().GetKnown() })
	require.NoError(w.t, w.secrets(db, w.leads(db), nil, adding(dbPassword), granting(uid)))
	reads = func(why string) {
		w.t.Helper()
		password, err := w.get(web, &wire.GetSecretRequest{Id: ordersSecret})
		require.NoError(w.t, err, why)
		assert.Equal(w.t, dbPassword, password, why)
	}
	reads("it is granted")
	return reads
}

// A secret that is restored without status keeps its content, its grants and its readers (TRUST.md T5).
func TestControllerKeepsSecretsRestoredWithoutStatus(t *testing.T) {
	w := newControllerWorld(t)
	reads := w.grantedSecret()
	known := stored(w, &v1alpha1.RelatedSecret{}, ordersSecret)
	require.NoError(t, w.admin.Delete(w.ctx, known.DeepCopy()))
	w.restore(known)
	w.sweep()
	reads("it has no status")
}

// Content that is restored long before its secret is kept: nothing is removed for being unknown (TRUST.md T5).
func TestControllerKeepsContentRestoredBeforeItsSecret(t *testing.T) {
	w := newControllerWorld(t)
	reads := w.grantedSecret()
	known := stored(w, &v1alpha1.RelatedSecret{}, ordersSecret)
	var contents corev1.SecretList
	require.NoError(t, w.admin.List(w.ctx, &contents, client.InNamespace(w.namespace)))
	w.deleteSecret(known)
	for i := range contents.Items {
		require.NoError(t, w.admin.Delete(w.ctx, contents.Items[i].DeepCopy()))
		w.restore(&contents.Items[i])
	}
	w.sweep()
	w.restore(known)
	w.sweep()
	reads("no secret named it for a while")
	assert.Equal(t, dbPassword, w.kept())
}

// The content of a deleted secret goes with it: a deletion that was seen is a known end (TRUST.md T5).
func TestControllerRemovesContentOfDeletedSecret(t *testing.T) {
	w := newControllerWorld(t)
	w.grantedSecret()
	w.deleteSecret(stored(w, &v1alpha1.RelatedSecret{}, ordersSecret))
	assert.Equal(t, dbPassword, w.kept(), "for a day it may come back")
	w.sweep()
	assert.Empty(t, w.kept())
}

// deleteSecret deletes a secret and waits until the controller has marked its content.
func (w *controllerWorld) deleteSecret(s *v1alpha1.RelatedSecret) {
	w.t.Helper()
	require.NoError(w.t, w.admin.Delete(w.ctx, s.DeepCopy()))
	w.eventually("its content is marked", func() bool {
		shard := stored(w, &corev1.Secret{}, secrets.ContentSecret(int(s.State.Revisions[0].Shard)))
		return len(shard.Annotations) == 1
	})
}
