package kube

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

func epoch() time.Time { return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC) }

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
			s := named(&corev1.Service{Spec: test.spec}, "shop", "db")
			test.want.Name, test.want.Created = "db", toObject(s).Created
			assert.Equal(t, test.want, toService(s), test.why)
		})
	}
}

func TestToPod(t *testing.T) {
	p := podOf("StatefulSet", "db")
	p.Name = "db-12"
	p.Spec.InitContainers = []corev1.Container{{Name: "mesh"}, {Name: injection.AgentContainer}}
	pod := toPod(p, Owner{Kind: application.StatefulSet, Name: "db"})
	assert.Equal(t, 12, pod.Ordinal, "SAFETY.md A2")
	assert.True(t, pod.Injected, "SAFETY.md I22: decided by the container")
	assert.False(t, pod.Finished)
	assert.Equal(t, -1, toPod(p, Owner{Kind: application.Deployment}).Ordinal, "a Deployment's pod has none, whatever its name")

	p.Status.Phase = corev1.PodFailed
	now := metav1.Now()
	p.DeletionTimestamp, p.Spec.InitContainers = &now, nil
	p.Annotations = map[string]string{application.KeyStatus: "injected"}
	pod = toPod(p, Owner{Kind: application.StatefulSet, Name: "db"})
	assert.True(t, pod.Finished, "SAFETY.md A2")
	assert.True(t, pod.Ending)
	assert.False(t, pod.Injected, "an annotation anybody can write proves nothing")
}

func TestInventory(t *testing.T) {
	m := memory{}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{application.KeyConsumes: "db"}}}
	deployment := named(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: template}}, "shop", "web")
	owned := named(&batchv1.Job{}, "shop", "nightly-1")
	controlled(owned, "CronJob", "nightly")
	elsewhere := named(&appsv1.Deployment{}, "bank", "vault")
	m.put(deployment, elsewhere, owned, named(&batchv1.Job{}, "shop", "once"), named(&batchv1.CronJob{}, "shop", "nightly"),
		named(&appsv1.StatefulSet{}, "shop", "db"), named(&appsv1.DaemonSet{}, "shop", "logs"),
		named(&corev1.Service{}, "shop", "web"), podOf("ReplicaSet", "unseen"))
	in, err := inventory(t.Context(), m, "shop")
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

// What the caches keep is what is read: no environment, no field owners, no
// copy of the manifest.
func TestCacheTransforms(t *testing.T) {
	spec := corev1.PodSpec{ServiceAccountName: "web", NodeName: "n1", Containers: []corev1.Container{{Name: "app", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "x"}}}}, InitContainers: []corev1.Container{{Name: injection.AgentContainer, Image: "large"}}}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: spec}
	objects := map[string]client.Object{
		"Deployment":  &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: template}},
		"StatefulSet": &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: template, VolumeClaimTemplates: make([]corev1.PersistentVolumeClaim, 2)}},
		"DaemonSet":   &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: template}},
		"Job":         &batchv1.Job{Spec: batchv1.JobSpec{Template: template}},
		"CronJob":     &batchv1.CronJob{Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}}}},
		"Pod":         &corev1.Pod{Spec: spec, Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"}},
		"Service":     &corev1.Service{Spec: corev1.ServiceSpec{ExternalName: "db.tengu.io"}},
	}
	options := CacheOptions()
	for name, o := range objects {
		t.Run(name, func(t *testing.T) {
			before := map[string]string{"tengu.io/consumes": "db", corev1.LastAppliedConfigAnnotation: "{}"}
			o.SetAnnotations(before)
			o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
			transform := options.DefaultTransform
			if _, ok := o.(*corev1.Pod); ok {
				for _, by := range options.ByObject {
					transform = by.Transform
				}
			}
			kept, err := transform(o)
			require.NoError(t, err)
			again, err := transform(kept)
			require.NoError(t, err)
			assert.Equal(t, kept, again, "twice is once")
			stripped, ok := kept.(client.Object)
			require.True(t, ok)
			assert.Empty(t, stripped.GetManagedFields())
			assert.Equal(t, map[string]string{"tengu.io/consumes": "db"}, stripped.GetAnnotations())
			assert.Len(t, before, 2, "the map that others may hold is left alone")
			assert.NotContains(t, mustJSON(t, kept), "PASSWORD")
			if p, ok := kept.(*corev1.Pod); ok {
				assert.True(t, Injected(p))
				assert.Equal(t, "web", p.Spec.ServiceAccountName)
				assert.Equal(t, corev1.PodRunning, p.Status.Phase)
				assert.Equal(t, "10.0.0.1", p.Status.PodIP)
				assert.Empty(t, p.Spec.NodeName)
			}
		})
	}
	same, err := strip("not an object")
	require.NoError(t, err)
	assert.Equal(t, "not an object", same)
}

func mustJSON(t *testing.T, o any) string {
	t.Helper()
	text, err := json.Marshal(o)
	require.NoError(t, err)
	return string(text)
}
