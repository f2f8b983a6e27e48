package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/foreign"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// foreigners reports that all charts of others are installed, and not cert-manager's alone: make foreign.
var foreigners = flag.Bool("foreign", false, "install all charts of others") //nolint:gochecknoglobals // a flag of the test

// Charts and an operator of others, with the programs of their authors, on a node (CONTENT.md X2 and X7).
func TestForeign(t *testing.T) {
	t.Parallel()
	c := controlplane.Start(t, controlplane.Node)
	first := certManager(t)
	first.during = func() {
		t.Run("Operator", func(t *testing.T) { operates(t, c) })
		if *foreigners {
			t.Run("trust-manager", func(t *testing.T) { trustManager(t).lives(t, c) })
		}
	}
	all := []chart{first}
	if *foreigners {
		all = append(all, gatekeeper(t), metricsServer(t), sealedSecrets(t))
	}
	for _, f := range all {
		require.True(t, t.Run(filepath.Base(f.folder), func(t *testing.T) { f.lives(t, c) }))
	}
}

// chart is a chart of others, and what an installation of it does.
type chart struct {
	foreign.Module

	folder, namespace string
	// version is that of Chart.yaml, where only a release has one.
	version string
	// images are the programs of images, by the names that the chart has for them.
	images map[string]foreign.Program
	// debian are images of Debian's packages, by their names.
	debian map[string]string
	// values are the arguments of the installation, changed those that an upgrade has too, and next the module of the
	// upgrade, if that is another one.
	values, changed []string
	next            foreign.Module
	// works proves that it does its work, at each of the times of an installation, and ends removes what users of it made.
	works func(w *world, upgraded bool)
	ends  func(w *world)
	// during is what else is done while it is installed.
	during func()
	// stays are the objects that are left after an uninstallation, since the programs made them.
	stays []string
}

// lives installs a chart, upgrades it, rolls it back, and uninstalls it: everything works each time, and in the end the
// cluster is what it was (CONTENT.md X2, BUNDLES.md 6 and 7).
func (f chart) lives(t *testing.T, c *controlplane.Cluster) {
	program := controlplane.Binary(t, "orcon")
	w := &world{Cluster: c, t: t, client: c.Client(t), objects: objects(t, c), namespace: f.namespace}
	w.makeNamespace(nil)
	w.prints("kube-root-ca.crt default", "get", "configmaps,serviceaccounts", "-o", "jsonpath={.items[*].metadata.name}")
	before := c.Snapshot(t)
	f.load(w)
	name := filepath.Base(f.folder)
	install := func(m foreign.Module, args ...string) string {
		all := append([]string{"install", f.unpack(t, m), "--name", name, "--yes", "--timeout", patience.String()}, f.values...)
		code, out := w.orcon(program, append(all, args...)...)
		require.Zero(t, code, out)
		return out
	}
	assert.Contains(t, install(f.Module), "is healthy: revision 1")
	f.works(w, false)
	next := f.Module
	if f.next.Path != "" {
		next = f.next
	}
	assert.Contains(t, install(next, f.changed...), "is healthy: revision 2")
	f.works(w, true)
	code, out := w.orcon(program, "rollback", name, "--yes", "--timeout", patience.String())
	require.Zero(t, code, out)
	assert.Contains(t, out, "is healthy: revision 3")
	f.works(w, false)
	if f.during != nil {
		f.during()
	}
	if f.ends != nil {
		f.ends(w)
	}
	if code, refusal := w.orcon(program, "uninstall", name, "--yes", "--timeout", patience.String()); code != 0 {
		w.removes(program, name, refusal) // with all that would be lost
	}
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		missing, more := differ(before, c.Snapshot(t))
		assert.Empty(collect, missing, "objects are missing")
		assert.ElementsMatch(collect, f.stays, more, "objects are left")
	}, patience, time.Second)
	c.Kubectl(t, "delete", "namespace", f.namespace, "--timeout="+patience.String()) // the next chart begins without it
}

// load makes the chart's images, and loads them into the node.
func (f chart) load(w *world) {
	w.t.Helper()
	w.Run(w.t, "load", foreign.Images(w.t, f.images))
	for name, packages := range f.debian {
		tar := filepath.Join(repository(w.t), "dist", name+".tar")
		produce(w.t, tar, sourcesOfPackages(w.t), "build/builder", "debian", name, "--packages", packages)
		w.Run(w.t, "load", tar)
	}
}

// differ returns the objects of a snapshot that a later one lacks, and the names of those that it has more.
func differ(before, after []string) (missing, more []string) {
	for _, object := range before {
		if !slices.Contains(after, object) {
			missing = append(missing, object)
		}
	}
	for _, object := range after {
		if !slices.Contains(before, object) {
			more = append(more, object[:strings.LastIndex(object, " ")])
		}
	}
	return missing, more
}

// unpack returns the folder of the chart as a release has it.
func (f chart) unpack(t *testing.T, m foreign.Module) string {
	t.Helper()
	folder := m.Unpack(t, f.folder)
	if f.version != "" {
		file := filepath.Join(folder, "Chart.yaml")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), f.version, m.Version)), 0o600))
	}
	return folder
}
