package webhook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// accepted are objects that the API server takes, by kind.
func accepted() map[string]string {
	const template = "{metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: a}]}}"
	return map[string]string{
		"Deployment": "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {selector: {matchLabels: {app: web}}, template: " + template + "}}",
		"Pod":        "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: [{name: a, image: a}]}}",
		"Service":    "{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {ports: [{port: 80}]}}",
		"Offer":      "{apiVersion: orcon.tengu.io/v1alpha1, kind: Offer, metadata: {name: x}, spec: {application: db, endpoint: main, consumers: [shop]}}",
		"Relation": "{apiVersion: orcon.tengu.io/v1alpha1, kind: Relation, metadata: {name: x}, spec: {interface: pg, " +
			"requirer: {application: web, endpoint: db}, provider: {application: db, endpoint: main}}}",
	}
}

// refused creates the inputs that the security model lists, each laid over an object that is taken, and reads the answers
// (TRUST.md R8).
func (w *webhookWorld) refused(t *testing.T) {
	namespace := w.optedIn("refused")
	create := func(manifest []byte) (string, error) {
		return w.kubectl(t, string(manifest), "-n", namespace, "create", "--dry-run=server", "-f", "-")
	}
	for kind, manifest := range accepted() {
		out, err := create([]byte(manifest))
		require.NoError(t, err, "%s: %s", kind, out)
	}
	for _, in := range inputs(t) {
		t.Run(in.Why, func(t *testing.T) {
			base, err := yaml.YAMLToJSON([]byte(accepted()[in.Kind]))
			require.NoError(t, err)
			manifest, err := jsonpatch.MergePatch(base, in.Input)
			require.NoError(t, err)
			out, err := create(manifest)
			require.Error(t, err, out)
			assert.Contains(t, strings.ReplaceAll(out, `\"`, `"`), in.Answer)
		})
	}
}

// input is one that the security model lists.
type input struct {
	Why    string          `json:"why"`
	Kind   string          `json:"kind"`
	Input  json.RawMessage `json:"input"`
	Answer string          `json:"answer"`
}

// inputs returns those of the security model.
func inputs(t *testing.T) (all []input) {
	t.Helper()
	root, err := controlplane.Root()
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(root, "docs", "explanation", "security-model.md"))
	require.NoError(t, err)
	_, list, _ := strings.Cut(string(page), "## Refused input\n")
	_, list, _ = strings.Cut(list, "```yaml\n")
	list, _, _ = strings.Cut(list, "```\n")
	require.NoError(t, yaml.UnmarshalStrict([]byte(list), &all))
	require.Greater(t, len(all), 5)
	return all
}
