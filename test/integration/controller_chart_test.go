package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// chart is Orcon's Helm chart, and what a release of it consists of. That charts render as Helm renders them is shown by
// test/charts.
type chart struct {
	*applied

	tree bundle.Tree
	// objects are those of the release.
	objects []bundle.Object
}

// newChart returns an Orcon that Helm installed.
func newChart(t *testing.T) *chart {
	t.Helper()
	root, err := controlplane.Root()
	require.NoError(t, err)
	folder := t.TempDir()
	write := exec.CommandContext(t.Context(), "go", "run", "./build/chart", folder)
	write.Dir = root
	out, err := write.CombinedOutput()
	require.NoError(t, err, "%s", out)
	h := &chart{}
	h.tree, err = directory.Read(folder)
	require.NoError(t, err)
	h.applied = newAppliedBy(t, func(c *controlplane.Cluster) {
		c.Kubectl(t, "create", "namespace", orconNamespace)
		h.release(t, c)
	})
	return h
}

// release installs the chart, or upgrades it, with some values. As Helm does, it deletes the objects of the release before
// that this one lacks, but for those that are to be kept.
func (h *chart) release(t *testing.T, c *controlplane.Cluster, set ...string) {
	t.Helper()
	rendered, err := render.Render(t.Context(), h.tree, content.Options{
		Format: string(bundle.Helm), Name: "orcon", Namespace: orconNamespace, Set: set,
	})
	require.NoError(t, err)
	before, now := h.objects, map[bundle.ID]bool{}
	h.objects = rendered.Objects
	var texts []string
	for _, o := range h.objects {
		now[o.ID()] = true
		text, err := o.Canonical()
		require.NoError(t, err)
		texts = append(texts, string(text))
	}
	file := filepath.Join(t.TempDir(), "all.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(texts, "\n---\n")), 0o600))
	c.Kubectl(t, "apply", "-f", file)
	c.Established(t)
	for _, o := range before {
		if !now[o.ID()] {
			h.remove(t, c, o)
		}
	}
}

// uninstall deletes the objects of the release, as Helm does: but for those that are to be kept.
func (h *chart) uninstall(t *testing.T) {
	t.Helper()
	for _, o := range h.objects {
		h.remove(t, h.cluster, o)
	}
	h.objects = nil
}

// remove deletes an object, unless it is to be kept.
func (h *chart) remove(t *testing.T, c *controlplane.Cluster, o bundle.Object) {
	t.Helper()
	if o.Annotation("helm.sh/resource-policy") == "keep" {
		return
	}
	kind, id := o.ID().Kind, o.ID()
	if id.Group != "" {
		kind += ".v1." + id.Group
	}
	c.Kubectl(t, "-n", orconNamespace, "delete", kind+"/"+id.Name, "--timeout=60s")
}

// ends ends the controller, which Helm has deleted.
func (h *chart) ends(t *testing.T) {
	t.Helper()
	c := h.controller()
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
	_ = c.cmd.Wait()
	assert.NotContains(t, c.said.String(), "panic")
}

// Helm upgrades and uninstalls Orcon while a relation lives. Its definitions stay, with all that is stored and with the
// policy that refuses their deletion, also if a value leaves them out of the release. No handler runs, files stay.
// Installed again, Orcon goes on with the same relation (TRUST.md T1).
func TestHelmKeepsRelations(t *testing.T) {
	t.Parallel()
	h := newChart(t)
	stored, heard, all := h.stored(), h.events(), definitions(t, h.cluster)
	same := func(t *testing.T) {
		t.Helper()
		assert.ElementsMatch(t, all, definitions(t, h.cluster))
		assert.Equal(t, stored, h.stored())
		assert.Equal(t, heard, h.events())
		assert.True(t, h.shows("user", "shop"))
		out, err := h.cluster.Try("delete", all[0], "--dry-run=server")
		require.Error(t, err, "the policy stays with the definitions")
		assert.Contains(t, out, "run orcon leave")
	}
	require.True(t, t.Run("Upgrade", func(t *testing.T) {
		h.release(t, h.cluster, "crds.enabled=false", "relationsController.replicas=1")
		same(t)
		h.release(t, h.cluster, "relationsController.replicas=1")
		same(t)
		h.eventually("the agents are connected", h.idle)
	}))
	require.True(t, t.Run("Uninstall", func(t *testing.T) {
		h.uninstall(t)
		h.eventually("pods start without Orcon", func() bool { return h.createPod() == nil })
		h.ends(t)
		same(t)
	}))
	h.release(t, h.cluster)
	h.run()
	h.eventually("the agents are back", h.idle)
	same(t)
	h.goesOn("1111")
	assert.Equal(t, append(heard, "web store-relation-changed"), h.events())
}
