package kubetest

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// Flags is the spec of an interface with a secret field and a pattern.
const Flags = "{name: flags, version: 1, description: Flags., provider: {application: {secret: [token], ready: [url], " +
	"schema: {properties: {url: {description: Where., pattern: ^http}, token: {description: A secret.}}}}}}"

// Published returns an Interface as the API server has it, from its spec.
func Published(t *testing.T, spec string) *v1alpha1.Interface {
	t.Helper()
	o := &v1alpha1.Interface{}
	require.NoError(t, yaml.Unmarshal([]byte("spec: "+spec), o))
	o.Name = schema.ObjectName(o.Spec.Name, int(o.Spec.Version))
	o.UID, o.ResourceVersion, o.Generation = types.UID("uid-"+o.Name), "7", 1
	return o
}

// Judging returns a namespace with a schema mode.
func Judging(name string, mode schema.Mode) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{application.LabelSchema: string(mode)}}}
}
