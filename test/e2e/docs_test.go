package e2e

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/docs"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// What README and docs/ tell people to type works, and prints what they show: each
// page from top to bottom, on the shared cluster. test/docs runs what needs none.
func TestDocs(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.operateBundles()
	documented(t, w.Cluster, docs.Cluster)
}

// documented runs the pages of a level on a cluster, with further variables.
func documented(t *testing.T, c *controlplane.Cluster, level string, env ...string) {
	t.Helper()
	pages, err := docs.Pages(repository(t))
	require.NoError(t, err)
	runner := docs.Runner{
		Root:     repository(t),
		Programs: []string{controlplane.Binary(t, "orcon"), filepath.Join(c.Programs, "kubectl")},
		Env:      append(env, "KUBECONFIG="+c.Kubeconfig),
		Patience: patience,
	}
	for _, p := range pages {
		if p.Level != level || !slices.ContainsFunc(p.Blocks, docs.Block.Runs) {
			continue
		}
		t.Run(filepath.Base(p.File), func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() {
				for _, ns := range docs.Namespaces(p) {
					c.Kubectl(t, "delete", "namespace", ns, "--wait=false", "--ignore-not-found")
				}
			})
			runner.Run(t, p)
		})
	}
}
