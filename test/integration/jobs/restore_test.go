package jobs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// An object that comes from a backup with its state is refused, since that names archives of another JobWorkspace, which
// would be deleted 90 days later; without the state it shows that the store has one (JOBS.md J5 and J20).
func TestRestoredByObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, count)
	root, err := controlplane.Root()
	require.NoError(t, err)
	w.cluster.Kubectl(t, "apply", "-f", filepath.Join(root, "deployment", "job-controller", "state.yaml"))
	w.run("one")
	w.reaches("one", "Ready Succeeded: it succeeded; its state is committed")
	backup := w.cluster.Kubectl(t, "-n", w.namespace, "get", "jobworkspace", "db", "-o", "yaml")
	w.cluster.Kubectl(t, "-n", w.namespace, "delete", "jobworkspace", "db")

	restore := func(text string, flags ...string) string {
		file := filepath.Join(t.TempDir(), "db.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		out, _ := w.cluster.Try(append([]string{"-n", w.namespace, "create", "-f", file}, flags...)...)
		return out
	}
	controlplane.Eventually(t, func() bool {
		return !strings.Contains(restore(backup, "--dry-run=server"), "created")
	}, limit, "the API server enforces the policy, which takes it some seconds")
	assert.Contains(t, restore(backup), "it would be that of another object: leave the state out, and take over what the store has with `orcon job state adopt`")
	var o map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(backup), &o))
	delete(o, "state")
	text, err := yaml.Marshal(o)
	require.NoError(t, err)
	assert.Contains(t, restore(string(text)), "created")
	controlplane.Eventually(t, func() bool {
		out, _ := w.cluster.Try("-n", w.namespace, "get", "jobworkspace", "db", "-o", "jsonpath={.status.conditions[*].message}")
		return strings.Contains(out, "left generation 1 there: take it over with `orcon job state adopt")
	}, limit, "the store has a state")
}
