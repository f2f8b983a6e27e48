package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/crdify"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// unsupported is the last commit at which what cannot be computed again stood in the status of objects.
const unsupported = "5d3b365bbd3bbfc8b9328ef90c882343a4549f4d^"

// definitionsOf returns the definitions of a folder with sources, by file.
func definitionsOf(t *testing.T, sources string) map[string]bundle.Object {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(sources, "deployment", "crd", "orcon.tengu.io_*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string]bundle.Object{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var o bundle.Object
		require.NoError(t, yaml.Unmarshal(text, &o))
		all[filepath.Base(file)] = o
	}
	return all
}

// orcon changes the definitions of the oldest supported commit in place. Those of an earlier one, whose objects it would
// take for empty, it refuses before it has changed one, with what to do instead (TRUST.md A6).
func TestUpgradeOfDefinitions(t *testing.T) {
	t.Parallel()
	root, err := controlplane.Root()
	require.NoError(t, err)
	head := definitionsOf(t, root)
	refused := func(sources string) map[string][]bundle.Finding {
		all := map[string][]bundle.Finding{}
		for file, live := range definitionsOf(t, sources) {
			require.Contains(t, head, file, "no kind is gone")
			findings, err := crdify.Judge{}.Findings(live, head[file])
			require.NoError(t, err)
			if len(findings) > 0 {
				all[file] = findings
			}
		}
		return all
	}
	assert.Empty(t, refused(controlplane.OldestSupported(t)))
	earlier := refused(controlplane.Sources(t, unsupported))
	for _, kind := range []string{"relatedapplications", "relations"} {
		findings := earlier["orcon.tengu.io_"+kind+".yaml"]
		require.NotEmpty(t, findings, kind)
		for _, f := range findings {
			assert.Contains(t, f.Cure, "orcon leave --end", "%s: %s", kind, f)
		}
	}
}

// Once the definitions are replaced, the API server leaves out the fields that an earlier commit stored. A controller then
// sees a new object, so only the definitions can be refused.
func TestUpgradeOfUnsupported(t *testing.T) {
	t.Parallel()
	cluster := controlplane.Start(t)
	crd := func(sources string) string {
		return filepath.Join(sources, "deployment", "crd", "orcon.tengu.io_relations.yaml")
	}
	change := func(sources string) {
		cluster.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", crd(sources))
		cluster.Established(t)
	}
	object := filepath.Join(t.TempDir(), "relation.yaml")
	require.NoError(t, os.WriteFile(object, []byte(`{apiVersion: orcon.tengu.io/v1alpha1, kind: Relation, metadata: {name: web},
  spec: {interface: http, requirer: {application: web, endpoint: site}, provider: {application: blog, endpoint: main}}}`), 0o600))
	id := func() string { return cluster.Kubectl(t, "get", "relation", "web", "-o", "jsonpath={.status.id}") }
	change(controlplane.Sources(t, unsupported))
	cluster.Kubectl(t, "create", "-f", object)
	cluster.Kubectl(t, "patch", "relation", "web", "--subresource=status", "--type=merge", "-p", `{"status":{"id":7}}`)
	require.Equal(t, "7", id())
	root, err := controlplane.Root()
	require.NoError(t, err)
	change(root)
	controlplane.Eventually(t, func() bool { return id() == "" }, soon, "the API server has the changed definition")
	assert.Equal(t, "{}", cluster.Kubectl(t, "get", "relation", "web", "-o", "jsonpath={.status}{.state}"))
}
