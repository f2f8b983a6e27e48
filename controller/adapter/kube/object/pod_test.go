package object_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

func TestInjected(t *testing.T) {
	p := kubetest.PodOf("", "")
	p.Spec.Containers = []corev1.Container{{Name: injection.AgentContainer}}
	assert.False(t, object.Injected(p), "the agent is a sidecar, which is an init container")
	p.Spec.InitContainers = []corev1.Container{{Name: "setup"}, {Name: injection.AgentContainer}}
	assert.True(t, object.Injected(p))
}

func TestNamed(t *testing.T) {
	p := &corev1.Pod{}
	assert.Same(t, p, object.Named(p, "shop", "web"), "the object itself, of its own type")
	assert.Equal(t, "shop", p.Namespace)
	assert.Equal(t, "web", p.Name)
}
