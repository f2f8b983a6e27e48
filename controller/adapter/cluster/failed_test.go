package cluster

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// populated is a cluster that has pods only.
type populated struct {
	client.Client

	pods []corev1.Pod
}

// List lists the pods.
func (c populated) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*corev1.PodList).Items = c.pods //nolint:forcetypeassert // nothing else is listed
	return nil
}

// A workload whose pods are refused by their node names the reason, in the same words for each pod that is made anew.
func TestTroublesOfRefusedPods(t *testing.T) {
	refused := corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu", Message: "Pod was rejected: Node didn't have enough resource: cpu"}
	pod := func(name string, second int64, status corev1.PodStatus) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(second, 0)}, Status: status}
	}
	tests := map[string]struct {
		why  string
		pods []corev1.Pod
		want string
	}{
		"Refused": {
			"the next one waits for its node", []corev1.Pod{pod("a", 1, refused), pod("b", 2, corev1.PodStatus{Phase: corev1.PodPending})},
			"the newest pod has failed: OutOfcpu: Pod was rejected: Node didn't have enough resource: cpu",
		},
		"Accepted": {
			"the next one has begun", []corev1.Pod{pod("a", 1, refused), pod("b", 2, corev1.PodStatus{Phase: corev1.PodRunning})}, "0 of 1 pods are available",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			web := &unstructured.Unstructured{Object: map[string]any{"kind": "Deployment", "metadata": map[string]any{"namespace": "shop", "name": "web"},
				"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": map[string]any{}}}}
			l := &bundle.Live{Says: "0 of 1 pods are available"}
			require.NoError(t, (&World{client: populated{pods: tc.pods}}).troubles(t.Context(), bundle.ID{Kind: "Deployment", Namespace: "shop", Name: "web"}, web, l))
			assert.Equal(t, tc.want, l.Says, tc.why)
		})
	}
}
