// Package e2e proves the stories of users on real pods: a real kubelet, the
// images as they ship, installed from deployment/ as a user would.
package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

func TestMain(m *testing.M) {
	log.SetLogger(log.Log.WithSink(nil)) // the client library has nothing to tell
	os.Exit(controlplane.Main(m, controlplane.Node))
}

// installed makes sure that the shared cluster has Orcon, once.
var installed sync.Once //nolint:gochecknoglobals // what is done once to the cluster that tests share

// withOrcon returns the shared cluster with the images loaded and Orcon
// installed with its own certificates, ready.
func withOrcon(t *testing.T) *world {
	t.Helper()
	c := controlplane.Shared(t)
	installed.Do(func() {
		loadImages(t, c)
		beforeOrcon(t, c)
		c.Kubectl(t, "apply", "-k", deployment(t, "selfsigned"))
		waitForOrcon(t, c)
	})
	return newWorld(t, c)
}

// ownOrcon returns a cluster of the test's own, with Orcon installed as in the
// shared one, on the first node.
func ownOrcon(t *testing.T, flags ...string) *controlplane.Cluster {
	t.Helper()
	c := controlplane.Start(t, append([]string{controlplane.Node}, flags...)...)
	loadImages(t, c)
	if len(c.Nodes) > 1 {
		c.Kubectl(t, "cordon", "orcon-node-2")
	}
	c.Kubectl(t, "apply", "-k", deployment(t, "selfsigned"))
	waitForOrcon(t, c)
	return c
}

func waitForOrcon(t *testing.T, c *controlplane.Cluster) {
	t.Helper()
	for _, name := range []string{"relations-controller", "relations-mutating-webhook"} {
		c.Kubectl(t, "-n", "orcon-system", "rollout", "status", "deployment/"+name, "--timeout=300s")
	}
}

// built makes sure that the images are made, once.
var built sync.Once //nolint:gochecknoglobals // what is done once for all clusters of the tests

// loadImages builds every image and imports it into the node.
func loadImages(t *testing.T, c *controlplane.Cluster) {
	t.Helper()
	dist := filepath.Join(repository(t), "dist")
	built.Do(func() { produce(t, filepath.Join(dist, "busybox.tar"), sinceTestsBegan(), "scripts/images.sh") })
	var images []string
	for _, name := range []string{controllerName, webhookName, "relation-agent", "bundle-controller", "busybox"} {
		images = append(images, filepath.Join(dist, name+".tar"))
	}
	c.Run(t, "load", images...)
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := controlplane.Root()
	require.NoError(t, err)
	return root
}

// deployment returns a path under deployment/.
func deployment(t *testing.T, path string) string {
	t.Helper()
	return filepath.Join(repository(t), "deployment", filepath.FromSlash(path))
}

// unique gives each test a namespace of its own.
func unique(n int) string { return fmt.Sprintf("e2e-%d-%d", os.Getpid(), n) }
