package removal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Pods that wait at their gates when Orcon leaves are named, with what helps: nothing opens a gate any more (TRUST.md T1).
func TestTakeProgramsNamesPodsThatWait(t *testing.T) {
	pod := func(name string, ready bool, change func(*corev1.Pod)) client.Object {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{application.KeyInjected: "true"}}}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "1", Controller: new(true)}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{
			Name: "relation-agent", Ready: ready, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Unix(1, 0)}},
		}}
		change(p)
		return p
	}
	as := func(*corev1.Pod) {}
	w := newWorld(
		t, pod("waits", false, as), pod("runs", true, as),
		pod("alone", false, func(p *corev1.Pod) { p.OwnerReferences = nil }),
		pod("goes", false, func(p *corev1.Pod) {
			p.Finalizers, p.DeletionTimestamp = []string{"example.org/hold"}, &metav1.Time{Time: time.Unix(1, 0)}
		}),
		pod("bare", false, func(p *corev1.Pod) { p.Labels = nil }),
		pod("others", false, func(p *corev1.Pod) { p.Status.InitContainerStatuses[0].Name = "setup" }),
	)
	require.NoError(t, Parts{w.Cluster}.TakePrograms(t.Context()))
	assert.Equal(t, []string{
		"pod shop/alone waits at its gate, which opens no more while Orcon is away: to start without files and variables of relations: " +
			"kubectl -n shop delete pod alone, and create it again",
		"pod shop/bare waits at its gate, which opens no more while Orcon is away: to start without files and variables of relations: " +
			"kubectl -n shop delete pod bare",
		"pod shop/waits waits at its gate, which opens no more while Orcon is away: to start without files and variables of relations: " +
			"kubectl -n shop delete pod waits",
	}, w.reports)
}
