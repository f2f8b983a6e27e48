package arch

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// manifests are the objects of one way to install Orcon.
type manifests []*unstructured.Unstructured

// variants are the ways, and the namespace of each.
func variants(t *testing.T) map[string]struct {
	all       manifests
	namespace string
} {
	t.Helper()
	return map[string]struct {
		all       manifests
		namespace string
	}{
		"Prototype":   {all: prototype(t), namespace: "default"},
		"SelfSigned":  {all: kustomize(t, filepath.Join(repository, "deployment/selfsigned")), namespace: "orcon-system"},
		"CertManager": {all: kustomize(t, filepath.Join(repository, "deployment/certmanager")), namespace: "orcon-system"},
	}
}

// prototype reads the files that its users apply, in their order (PROTOTYPE.md).
func prototype(t *testing.T) manifests {
	t.Helper()
	var all manifests
	for _, file := range []string{
		"rbac.yaml", "relations-mutating-webhook/controller-configmap.yaml", "relations-mutating-webhook/controller.yaml",
		"relations-mutating-webhook/service.yaml", "relations-mutating-webhook/webhook-config-templ.yaml", "relations-controller/controller.yaml",
	} {
		all = append(all, readManifests(t, filepath.Join(repository, "deployment", file))...)
	}
	return all
}

// kustomize builds a folder with the kubectl that people have: no network, no
// plugin.
func kustomize(t *testing.T, folder string) manifests {
	t.Helper()
	kubectl, err := filepath.Abs(filepath.Join(repository, "bin/kubectl"))
	require.NoError(t, err)
	require.FileExists(t, kubectl, "run 'make cluster' first: it builds kubectl")
	cmd := exec.CommandContext(t.Context(), kubectl, "kustomize", folder)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "cannot build %s: %s", folder, &stderr)
	require.Empty(t, stderr.String(), "kubectl warns about %s", folder)
	return decode(t, bytes.NewReader(out))
}

func readManifests(t *testing.T, file string) manifests {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	return decode(t, f)
}

func decode(t *testing.T, r io.Reader) manifests {
	t.Helper()
	var all manifests
	decoder := yaml.NewYAMLOrJSONDecoder(r, 4096)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		if len(o.Object) > 0 {
			all = append(all, o)
		}
	}
}

// names lists the objects as kind/name.
func (m manifests) names() []string {
	var all []string
	for _, o := range m {
		all = append(all, o.GetKind()+"/"+o.GetName())
	}
	return all
}

// objects returns every object of a kind, at least one, strictly decoded: a field
// that the API does not know fails the test.
func objects[T any](t *testing.T, m manifests, kind string) []T {
	t.Helper()
	var all []T
	for _, o := range m {
		if o.GetKind() != kind {
			continue
		}
		var typed T
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &typed, true), "%s %s", kind, o.GetName())
		all = append(all, typed)
	}
	require.NotEmpty(t, all, "no %s at all", kind)
	return all
}

// The kinds that tests look into.
type (
	deployment     = appsv1.Deployment
	service        = corev1.Service
	budget         = policyv1.PodDisruptionBudget
	clusterRole    = rbacv1.ClusterRole
	role           = rbacv1.Role
	binding        = rbacv1.RoleBinding
	clusterBinding = rbacv1.ClusterRoleBinding
	webhooks       = admissionv1.MutatingWebhookConfiguration
)

// edited copies deployment/ and replaces text in one of its files, as a user would.
func edited(t *testing.T, changes map[string][2]string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "deployment")
	require.NoError(t, os.CopyFS(root, os.DirFS(filepath.Join(repository, "deployment"))))
	for file, change := range changes {
		at := filepath.Join(root, file)
		text, err := os.ReadFile(at)
		require.NoError(t, err)
		require.Contains(t, string(text), change[0], "%s no longer has what the test changes", file)
		require.NoError(t, os.WriteFile(at, bytes.ReplaceAll(text, []byte(change[0]), []byte(change[1])), 0o600))
	}
	return root
}
