package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// Workloads are found by a variable of their containers, whatever their labels are.
func TestRunning(t *testing.T) {
	replicas := func(n int32) *int32 { return &n }
	pod := func(image, value string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "log", Image: "log"},
			{Name: "int", Image: image, Env: []corev1.EnvVar{{Name: "OTHER", Value: "manager"}, {Name: "NAME", Value: value}}},
		}}}
	}
	deployment := func(namespace, name string, replicas *int32, pod corev1.PodTemplateSpec) client.Object {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: appsv1.DeploymentSpec{Replicas: replicas, Template: pod},
		}
	}
	c := fake.NewClientBuilder().WithScheme(clientscheme.Scheme).WithObjects(
		deployment("tools", "a", nil, pod("a:1", "manager")), deployment("tools", "b", replicas(2), pod("b:1", "manager")),
		deployment("tools", "stopped", replicas(0), pod("c:1", "manager")), deployment("tools", "other", nil, pod("d:1", "github")),
		deployment("stage", "elsewhere", nil, pod("e:1", "manager")),
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "tools", Name: "a"}, Spec: appsv1.StatefulSetSpec{Template: pod("f:1", "manager")}},
	).Build()
	running, err := Running(t.Context(), c, "tools", "NAME", "manager")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"Deployment a": "a:1", "Deployment b": "b:1", "StatefulSet a": "f:1"}, running)
}
