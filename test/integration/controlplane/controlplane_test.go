package controlplane_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }

func TestShared(t *testing.T) {
	c := controlplane.Shared(t)
	assert.Same(t, c, controlplane.Shared(t), "one cluster for all tests")
	assert.Equal(t, controlplane.ControlPlane, c.Form)
	assert.Contains(t, c.Kubectl(t, "get", "namespaces"), "kube-system")
}

func TestComponents(t *testing.T) {
	c := controlplane.Start(t)
	assert.NotEqual(t, controlplane.Shared(t).Dir, c.Dir, "a cluster of its own")
	c.Kill(t, "kube-apiserver")
	_, err := c.Client(t).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	require.Error(t, err, "the API server is gone")
	c.StartComponent(t, "kube-apiserver")
	_, err = c.Client(t).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	assert.NoError(t, err, "and is back")
}
