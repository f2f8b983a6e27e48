package jobs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// related makes a world whose runs have the outputs of a file, for Service orders-db.
func related(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, count+`cp "$OUT/outputs" "$ORCON_OUTPUTS"`, func(o *v1alpha1.JobWorkspace) {
		o.Spec.Outputs = &v1alpha1.JobOutputs{Service: "orders-db", Endpoint: "main"}
		o.Spec.DeletionPolicy = v1alpha1.DeletionPolicyDestroy
	})
	w.serve()
	return w
}

// serve creates the Service.
func (w *world) serve() {
	w.t.Helper()
	o := &corev1.Service{ObjectMeta: w.named("orders-db"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "db.example.org"}}
	o.Annotations = map[string]string{"tengu.io/provides": "main:orders-db"}
	w.create(o)
}

// outputs has a Run leave outputs.
func (w *world) outputs(name, text string) {
	w.t.Helper()
	require.NoError(w.t, os.WriteFile(filepath.Join(w.outside, "outputs"), []byte(text), 0o600))
	w.run(name)
	w.reaches(name, "Ready Succeeded")
}

// shows waits until the Service has data, and the name of a Secret.
func (w *world) shows(data, secret string) {
	w.t.Helper()
	o := &corev1.Service{}
	controlplane.Eventually(w.t, func() bool {
		err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "orders-db"}, o)
		return err == nil && o.Annotations["data.tengu.io/main"] == data && o.Annotations["secret.tengu.io/main"] == secret
	}, limit, "the Service shows "+data+" and "+secret)
	assert.Equal(w.t, "main:orders-db", o.Annotations["tengu.io/provides"])
}

// The Service that a Workspace names shows the outputs of its last run, but for sensitive ones, which are in a Secret. They
// come back when it is made anew, and are gone when they were destroyed (JOBS.md J19).
func TestRelate(t *testing.T) {
	t.Parallel()
	w := related(t)
	password := func() string {
		var o corev1.Secret
		err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "db-outputs"}, &o)
		if apierrors.IsNotFound(err) {
			return "none"
		}
		require.NoError(t, err)
		return string(o.Data["password"])
	}
	w.outputs("one", `{"host": "a", "password": {"sensitive": true, "value": "pw-one"}}`)
	w.shows(`{"host":"a"}`, "db-outputs")
	assert.Equal(t, "pw-one", password())
	w.next("one")
	w.outputs("two", `{"host": "b", "password": {"sensitive": true, "value": "pw-two"}}`)
	w.shows(`{"host":"b"}`, "db-outputs")
	assert.Equal(t, "pw-two", password())
	for _, kind := range []string{"services", "jobruns", "jobworkspaces", "events"} {
		assert.NotContains(t, w.cluster.Kubectl(t, "-n", w.namespace, "get", kind, "-o", "yaml"), "pw-", kind)
	}

	w.cluster.Kubectl(t, "-n", w.namespace, "delete", "service", "orders-db")
	w.serve()
	w.ahead.Store(int64(5 * time.Minute))
	w.cluster.Kubectl(t, "-n", w.namespace, "label", "jobworkspace", "db", "looked=at")
	w.shows(`{"host":"b"}`, "db-outputs")

	require.NoError(t, w.client.Delete(t.Context(), w.workspace()))
	w.shows("", "")
	controlplane.Eventually(t, func() bool { return password() == "none" }, limit, "its Secret goes with it")
}
