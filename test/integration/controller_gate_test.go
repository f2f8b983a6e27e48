package integration

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// holdsBack has the agent of an application's pod hold back its containers, for a minute already.
func (w *controllerWorld) holdsBack(app string) {
	w.t.Helper()
	pod := w.podOf(app)
	before := client.MergeFrom(pod.DeepCopy())
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: injection.AgentContainer, Image: "agent",
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Now().Add(-time.Minute))}},
	}}
	require.NoError(w.t, w.admin.Status().Patch(w.ctx, pod, before))
}

// What keeps a gate closed besides missing data is in a condition of the application (TRUST.md A4, A5, A8): a policy,
// an old kubelet, an agent that cannot do its work.
func TestClosedGate(t *testing.T) {
	w := newControllerWorld(t)
	w.controller(-1)
	w.create(w.provider("db-endpoint", "db.tengu.io"))
	declared := consumes("db", "db-endpoint")
	failed := func(app string) string { return reason(w.app(app).Status.Conditions, "AgentFailed") }

	cut := w.consumer("cut", declared)
	w.create(cut)
	w.holdsBack("cut")
	w.eventually("the gate is overdue", func() bool {
		later := w.ahead.Add(int64(10 * time.Second))
		w.change(cut, func() { metav1.SetMetaDataAnnotation(&cut.ObjectMeta, "later", time.Duration(later).String()) }) // wakes the controller
		return failed("cut") == "GateClosed"
	})
	require.Len(t, w.app("cut").State.Units, 1)
	assert.NotNil(t, w.app("cut").State.Units[0].OverdueTime)

	deny := &networkingv1.NetworkPolicy{ObjectMeta: w.meta("default-deny"), Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "denied"}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
	}}
	w.create(deny, w.consumer("denied", declared))
	w.holdsBack("denied")
	w.eventually("the policy is named", func() bool { return failed("denied") == "EgressDenied" })

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "old-" + w.namespace}}
	w.create(node)
	t.Cleanup(func() { _ = w.admin.Delete(context.WithoutCancel(w.ctx), node) })
	before := client.MergeFrom(node.DeepCopy())
	node.Status.NodeInfo.KubeletVersion = "v1.34.2"
	require.NoError(t, w.admin.Status().Patch(w.ctx, node, before)) // the cluster's controllers write it too
	old := w.consumer("old", declared)
	old.Spec.Template.Spec.NodeName = node.Name
	w.create(old)
	w.eventually("the node is named", func() bool { return failed("old") == "OldKubelet" })
}
