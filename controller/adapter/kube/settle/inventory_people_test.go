package settle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
)

// People have deleted all pods of a StatefulSet with strategy OnDelete, and all are of its present template. Kubernetes
// raises its current revision for strategy RollingUpdate alone, so that the revisions differ for ever (TRUST.md A9).
func TestPeopleHaveReplacedAll(t *testing.T) {
	three := int32(3)
	for updated, left := range map[int32]string{2: onDelete, 3: ""} {
		s := object.Named(&appsv1.StatefulSet{
			Spec: appsv1.StatefulSetSpec{Replicas: &three, UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type: appsv1.OnDeleteStatefulSetStrategyType,
			}},
			Status: appsv1.StatefulSetStatus{
				ObservedGeneration: 1, CurrentRevision: "a", UpdateRevision: "b", Replicas: 3, ReadyReplicas: 3, UpdatedReplicas: updated,
			},
		}, "shop", "db")
		s.Generation = 1
		m := kubetest.Memory{}
		m.Put(s)
		in, err := inventory(t.Context(), m, "shop", "orcon-system:relations-controller")
		require.NoError(t, err)
		require.Len(t, in.Workloads, 1)
		assert.Equal(t, left, in.Workloads[0].LeftToPeople, "%d of 3", updated)
		assert.False(t, in.Workloads[0].RollingOut)
	}
}
