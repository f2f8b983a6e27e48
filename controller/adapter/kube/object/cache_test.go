package object_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

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
		"Node": &corev1.Node{
			Spec:   corev1.NodeSpec{PodCIDR: "10.1.0.0/24"},
			Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.36.3"}, Images: make([]corev1.ContainerImage, 50)},
		},
		"Service": &corev1.Service{Spec: corev1.ServiceSpec{ExternalName: "db.tengu.io"}},
	}
	options := object.CacheOptions()
	for name, o := range objects {
		t.Run(name, func(t *testing.T) {
			before := map[string]string{"tengu.io/consumes": "db", corev1.LastAppliedConfigAnnotation: "{}"}
			o.SetAnnotations(before)
			o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
			transform := options.DefaultTransform
			for kind, by := range options.ByObject {
				if reflect.TypeOf(kind) == reflect.TypeOf(o) {
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
			assert.Len(t, before, 2, "a map that may be shared is not changed")
			assert.NotContains(t, mustJSON(t, kept), "PASSWORD")
			if n, ok := kept.(*corev1.Node); ok {
				assert.Equal(t, "v1.36.3", n.Status.NodeInfo.KubeletVersion)
				assert.Empty(t, n.Status.Images)
				return
			}
			assert.Equal(t, map[string]string{"tengu.io/consumes": "db"}, stripped.GetAnnotations())
			if p, ok := kept.(*corev1.Pod); ok {
				assert.True(t, object.Injected(p))
				assert.Equal(t, "web", p.Spec.ServiceAccountName)
				assert.Equal(t, "n1", p.Spec.NodeName)
				assert.Equal(t, corev1.PodRunning, p.Status.Phase)
				assert.Equal(t, "10.0.0.1", p.Status.PodIP)
			}
		})
	}
	same, err := options.DefaultTransform("not an object")
	require.NoError(t, err)
	assert.Equal(t, "not an object", same)
}

func mustJSON(t *testing.T, o any) string {
	t.Helper()
	text, err := json.Marshal(o)
	require.NoError(t, err)
	return string(text)
}

// The caches keep the content of a databag and not its record, which is read when the bag is written.
func TestTheCachesKeepNoRecord(t *testing.T) {
	b := object.Named(&v1alpha1.Databag{}, "shop", "db-main")
	b.State = v1alpha1.DatabagState{Data: map[string]string{"host": "db"}, Version: "v", Commits: 3, Record: []byte("gzip")}
	kept, err := object.CacheOptions().DefaultTransform(b)
	require.NoError(t, err)
	assert.Equal(t, v1alpha1.DatabagState{Data: map[string]string{"host": "db"}, Version: "v", Commits: 3}, kept.(*v1alpha1.Databag).State)
}

// Of a pod without an agent the caches keep the metadata and whether it has ended (TRUST.md U7).
func TestTheCachesKeepLittleOfOtherPods(t *testing.T) {
	for kind, by := range object.CacheOptions().ByObject {
		if _, pods := kind.(*corev1.Pod); !pods {
			continue
		}
		p := object.Named(&corev1.Pod{}, "shop", "plain")
		p.Labels = map[string]string{"app": "plain"}
		p.Spec = corev1.PodSpec{ServiceAccountName: "default", NodeName: "n1", Containers: []corev1.Container{{Name: "app"}}}
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1", Conditions: make([]corev1.PodCondition, 5)}
		want := &corev1.Pod{ObjectMeta: p.ObjectMeta, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		kept, err := by.Transform(p)
		require.NoError(t, err)
		assert.Equal(t, want, kept)
		return
	}
	t.Fatal("pods have no transform")
}
