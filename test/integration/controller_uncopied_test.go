package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// A workload that was admitted without the webhook, or before the Service that declares for it, gets its keys and new pods
// (TRUST.md A11). No webhook is there.
func TestUncopiedKeysAreWritten(t *testing.T) {
	w := newControllerWorld(t)
	w.controller(-1)
	w.create(w.provider("db-endpoint", "db.tengu.io"))
	bare := func(name string) *appsv1.Deployment {
		d := w.consumer(name, nil)
		d.Spec.Template.Spec.InitContainers = nil
		return d
	}
	own, served := bare("own"), bare("served")
	own.Annotations = consumes("db", "db-endpoint")
	w.create(own, served)
	front := &corev1.Service{ObjectMeta: w.meta("front"), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "served"}, Ports: []corev1.ServicePort{{Port: 80}}}}
	front.Annotations = consumes("db", "db-endpoint")
	w.create(front)

	for d, marks := range map[*appsv1.Deployment]string{own: "tengu.io/consumes", served: "tengu.io/consumes@front"} {
		w.eventually(d.Name+" gets its keys", func() bool {
			require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
			return d.Spec.Template.Annotations[application.KeyConsumes] == "db"
		})
		assert.Equal(t, marks, d.Spec.Template.Annotations[application.KeyCopied])
		assert.NotContains(t, d.Spec.Template.Annotations, application.KeyDataVersion)
		w.eventually("and new pods", func() bool { return d.Generation > 1 && len(w.podsOf(d.Name, 2)) == 2 })
	}
	w.eventually("an Event says so", func() bool { return w.hasEvent("Restarted") })

	t.Log("what another writer takes away stays away, and says so")
	w.change(own, func() { own.Spec.Template.Annotations = nil })
	w.eventually("the condition names the keys", func() bool { return reason(w.app("own").Status.Conditions, "NotInjected") == "KeysRemoved" })
	require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(own), own))
	assert.Empty(t, own.Spec.Template.Annotations)
}
