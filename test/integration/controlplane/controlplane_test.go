package controlplane_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// A field is what kubectl prints of it, for kinds that are made later too.
func TestField(t *testing.T) {
	c := controlplane.Shared(t)
	_, err := c.Field(t.Context(), "", "later/one", "{.spec}")
	require.Error(t, err, "there is no such kind")
	definition := filepath.Join(t.TempDir(), "later.yaml")
	require.NoError(t, os.WriteFile(definition, []byte(later), 0o600))
	c.Kubectl(t, "apply", "-f", definition)
	c.Established(t)
	c.Kubectl(t, "label", "namespace", "default", "a.b/c=d")
	for object, templates := range map[string][]string{
		"namespace/default":                   {"{.status.phase}", `{.metadata.labels.a\.b/c}`, "{.metadata.labels}", "{.metadata.nothing}", "{.spec.finalizers[*]} {.kind}"},
		"service/kubernetes":                  {"{.spec.ports[0].port}", "{.spec.ports[*].name}", `{.spec.ports[?(@.port==443)].protocol}`},
		"service":                             {`{.items[?(@.metadata.name=="kubernetes")].spec.ports[0].port}`},
		"customresourcedefinition/laters.a.b": {`{.status.conditions[?(@.type=="Established")].status}`},
	} {
		for _, template := range templates {
			value, err := c.Field(t.Context(), "default", object, template)
			require.NoError(t, err)
			assert.Equal(t, c.Kubectl(t, "-n", "default", "get", object, "-o", "jsonpath="+template), value, template)
		}
	}
	controlplane.Eventually(t, func() bool {
		_, err = c.Field(t.Context(), "default", "later/one", "{.spec}")
		return apierrors.IsNotFound(err)
	}, time.Minute, "the kind is found")
	_, err = c.Field(t.Context(), "default", "namespace/default", "{.spec")
	assert.ErrorContains(t, err, "cannot read template {.spec")
}

const later = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: laters.a.b}
spec:
  group: a.b
  scope: Namespaced
  names: {kind: Later, plural: laters, singular: later}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

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
