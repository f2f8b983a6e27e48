package settle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

func TestToService(t *testing.T) {
	protocol := "postgresql"
	tests := map[string]struct {
		why  string
		spec corev1.ServiceSpec
		want application.Service
	}{
		"ExternalName": {
			why:  "a selector means nothing there (SAFETY.md A1)",
			spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "db.tengu.io", Selector: map[string]string{"app": "db"}},
			want: application.Service{ExternalName: "db.tengu.io"},
		},
		"LeftoverName": {
			why:  "externalName of a Service that is not of that type means nothing",
			spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ExternalName: "old.tengu.io", Selector: map[string]string{"app": "db"}},
			want: application.Service{Selector: map[string]string{"app": "db"}},
		},
		"Ports": {
			why:  "what clients dial, not what pods listen on",
			spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "sql", Port: 5432, AppProtocol: &protocol}, {Port: 80}}},
			want: application.Service{Ports: []application.Port{{Name: "sql", Number: 5432, Protocol: protocol}, {Number: 80}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := object.Named(&corev1.Service{Spec: test.spec}, "shop", "db")
			test.want.Name, test.want.Created = "db", toObject(s).Created
			assert.Equal(t, test.want, toService(s), test.why)
		})
	}
}

func TestToPod(t *testing.T) {
	p := kubetest.PodOf("StatefulSet", "db")
	p.Name = "db-12"
	p.Spec.InitContainers = []corev1.Container{{Name: "mesh"}, {Name: injection.AgentContainer}}
	pod := toPod(p, object.Owner{Kind: application.StatefulSet, Name: "db"})
	assert.Equal(t, 12, pod.Ordinal, "SAFETY.md A2")
	assert.True(t, pod.Injected, "SAFETY.md I22: decided by the container")
	assert.False(t, pod.Finished)
	assert.Equal(t, -1, toPod(p, object.Owner{Kind: application.Deployment}).Ordinal, "a Deployment's pod has none, whatever its name")

	p.Status.Phase = corev1.PodFailed
	now := metav1.Now()
	p.DeletionTimestamp, p.Spec.InitContainers = &now, nil
	p.Annotations = map[string]string{application.KeyStatus: "injected"}
	pod = toPod(p, object.Owner{Kind: application.StatefulSet, Name: "db"})
	assert.True(t, pod.Finished, "SAFETY.md A2")
	assert.True(t, pod.Ending)
	assert.False(t, pod.Injected, "an annotation anybody can write proves nothing")
}

func TestInventory(t *testing.T) {
	m := kubetest.Memory{}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{application.KeyConsumes: "db"}}}
	deployment := object.Named(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: template}}, "shop", "web")
	owned := object.Named(&batchv1.Job{}, "shop", "nightly-1")
	kubetest.Controlled(owned, "CronJob", "nightly")
	elsewhere := object.Named(&appsv1.Deployment{}, "bank", "vault")
	m.Put(deployment, elsewhere, owned, object.Named(&batchv1.Job{}, "shop", "once"), object.Named(&batchv1.CronJob{}, "shop", "nightly"),
		object.Named(&appsv1.StatefulSet{}, "shop", "db"), object.Named(&appsv1.DaemonSet{}, "shop", "logs"),
		object.Named(&corev1.Service{}, "shop", "web"), kubetest.PodOf("ReplicaSet", "unseen"))
	in, err := inventory(t.Context(), m, "shop", "orcon-system:relations-controller")
	require.NoError(t, err)
	var names []string
	for _, w := range in.Workloads {
		names = append(names, string(w.Kind)+"/"+w.Name)
	}
	assert.Equal(t, []string{"Deployment/web", "StatefulSet/db", "DaemonSet/logs", "CronJob/nightly", "Job/once"}, names, "a CronJob's Job is no workload of its own")
	assert.Equal(t, template.Annotations, in.Workloads[0].TemplateAnnotations)
	assert.Equal(t, 1, in.Workloads[0].Replicas, "the API's default")
	assert.Len(t, in.Services, 1)
	assert.Empty(t, in.Pods, "a pod whose owner is not known is not guessed at")
	assert.Empty(t, in.Strays, "and has no agent")
}

// The lowest ordinal of a StatefulSet is where its spec has the ordinals begin (SAFETY.md A2).
func TestFirstOrdinal(t *testing.T) {
	m := kubetest.Memory{}
	db := object.Named(&appsv1.StatefulSet{}, "shop", "db")
	db.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5}
	m.Put(db)
	in, err := inventory(t.Context(), m, "shop", "")
	require.NoError(t, err)
	assert.Equal(t, 5, in.Workloads[0].First)
}

func TestDeploymentRolls(t *testing.T) {
	three := int32(3)
	with := func(status appsv1.DeploymentStatus) *appsv1.Deployment {
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &three}, Status: status}
		d.Generation = 2
		return d
	}
	gaveUp := []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Reason: "ProgressDeadlineExceeded"}}
	tests := map[string]struct {
		status appsv1.DeploymentStatus
		want   bool
	}{
		"Settled":  {status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3}},
		"NotSeen":  {status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 3}, want: true},
		"OldPods":  {status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 4, UpdatedReplicas: 3}, want: true},
		"TooFew":   {status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2}, want: true},
		"GaveItUp": {status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 4, UpdatedReplicas: 1, Conditions: gaveUp}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, deploymentRolls(with(test.status))) })
	}
}

// A rollout that has exceeded its deadline is read with that deadline, and none else (TRUST.md A8).
func TestPastDeadline(t *testing.T) {
	minute := int32(60)
	tests := map[string]struct {
		why    string
		set    *int32
		reason string
		want   int
	}{
		"Exceeded": {"its author's deadline", &minute, "ProgressDeadlineExceeded", 60},
		"Default":  {"the API's", nil, "ProgressDeadlineExceeded", 600},
		"Goes":     {"it goes on", &minute, "ReplicaSetUpdated", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := object.Named(&appsv1.Deployment{}, "shop", "web")
			d.Spec.ProgressDeadlineSeconds = test.set
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Reason: test.reason}}
			m := kubetest.Memory{}
			m.Put(d)
			in, err := inventory(t.Context(), m, "shop", "")
			require.NoError(t, err)
			assert.Equal(t, test.want, in.Workloads[0].PastDeadline, test.why)
		})
	}
}

// What a strategy leaves to people is not awaited (TRUST.md A9).
func TestLeftToPeople(t *testing.T) {
	three := int32(3)
	old := appsv1.StatefulSetStatus{ObservedGeneration: 1, CurrentRevision: "a", UpdateRevision: "b"}
	partition := func(n int32) appsv1.StatefulSetUpdateStrategy {
		return appsv1.StatefulSetUpdateStrategy{RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &n}}
	}
	updated := func(n int32) appsv1.StatefulSetStatus {
		status := old
		status.UpdatedReplicas = n
		return status
	}
	tests := map[string]struct {
		strategy appsv1.StatefulSetUpdateStrategy
		status   appsv1.StatefulSetStatus
		rolls    bool
		left     string
	}{
		"Rolling":      {status: old, rolls: true},
		"NoPartition":  {strategy: partition(0), status: updated(2), rolls: true},
		"OnDelete":     {strategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}, status: old, left: "its update strategy is OnDelete: delete them"},
		"OnDeleteDone": {strategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}, status: appsv1.StatefulSetStatus{ObservedGeneration: 1}},
		"Partition":    {strategy: partition(2), status: updated(1), left: "partition 2 of its update strategy keeps them: lower it"},
		"BeforeIt":     {strategy: partition(2), status: updated(0), rolls: true},
		"BeyondAll":    {strategy: partition(9), status: updated(0), left: "partition 9 of its update strategy keeps them: lower it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := object.Named(&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: &three, UpdateStrategy: test.strategy}, Status: test.status}, "shop", "db")
			s.Generation = 1
			daemons := object.Named(&appsv1.DaemonSet{}, "shop", "logs")
			daemons.Spec.UpdateStrategy.Type, daemons.Status.DesiredNumberScheduled = appsv1.OnDeleteDaemonSetStrategyType, 1
			paused := object.Named(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &three, Paused: true}}, "shop", "web")
			m := kubetest.Memory{}
			m.Put(s, daemons, paused)
			in, err := inventory(t.Context(), m, "shop", "orcon-system:relations-controller")
			require.NoError(t, err)
			require.Len(t, in.Workloads, 3)
			assert.Equal(t, "it is paused: kubectl -n shop rollout resume deployment web", in.Workloads[0].LeftToPeople)
			assert.Equal(t, test.rolls, in.Workloads[1].RollingOut)
			assert.Equal(t, test.left, in.Workloads[1].LeftToPeople)
			assert.Equal(t, "its update strategy is OnDelete: delete them", in.Workloads[2].LeftToPeople)
			assert.False(t, in.Workloads[0].RollingOut || in.Workloads[2].RollingOut)
		})
	}
}
