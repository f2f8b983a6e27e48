package clustertest_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/clustertest"
)

const (
	// patience bounds waits for what a cluster does in its own time.
	patience = 60 * time.Second
	poll     = 100 * time.Millisecond
)

// TestMain builds what it tests, which is quick unless Kubernetes itself was
// never built here.
func TestMain(m *testing.M) {
	build := exec.Command("../build.sh")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "cannot build the cluster:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// eventually waits until check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var err error
	tick, late := time.NewTicker(poll), time.After(patience)
	defer tick.Stop()
	for {
		if err = check(); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: not within %s: %v", what, patience, err)
		}
	}
}

// wants fails the test unless text has part.
func wants(t *testing.T, what, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s: want %q in:\n%s", what, part, text)
	}
}

// tryKubectl runs kubectl until it succeeds.
func tryKubectl(t *testing.T, c *clustertest.Cluster, arguments ...string) string {
	t.Helper()
	said := ""
	eventually(t, "kubectl "+strings.Join(arguments, " "), func() error {
		out, err := c.TryKubectl("", arguments...)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		said = out
		return nil
	})
	return said
}
