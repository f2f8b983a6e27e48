// Package deployment tests what deployment/ holds against a real API server: the
// manifests, the roles, the webhook's selectors, and the two certificate scripts.
package deployment

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }

// shell is a person's terminal in the repository, with kubectl and KUBECONFIG set.
type shell struct {
	t       *testing.T
	cluster *controlplane.Cluster
	root    string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	root, err := controlplane.Root()
	require.NoError(t, err)
	return &shell{t: t, cluster: controlplane.Shared(t), root: root}
}

// try runs a command line as it is written in README and returns what it said.
func (s *shell) try(line string) (string, error) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir = s.root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.cluster.Kubeconfig, "PATH="+s.cluster.Programs+":"+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// run runs a command line that must succeed.
func (s *shell) run(line string) string {
	s.t.Helper()
	out, err := s.try(line)
	require.NoError(s.t, err, "%s\n%s", line, out)
	return out
}

// refused runs a command line that must fail.
func (s *shell) refused(line string) string {
	s.t.Helper()
	out, err := s.try(line)
	require.Error(s.t, err, "%s\n%s", line, out)
	return out
}

// eventually waits until a command line succeeds.
func (s *shell) eventually(line string) {
	s.t.Helper()
	var last string
	require.EventuallyWithT(s.t, func(c *assert.CollectT) {
		out, err := s.try(line)
		last = out
		require.NoError(c, err, last)
	}, 30*time.Second, 200*time.Millisecond, line)
}

// unhook takes the webhook configuration away at the end of a test, without which
// pods of other tests would be held back. All else stays until the cluster goes.
func (s *shell) unhook() {
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(s.cluster.Programs, "kubectl"), "--kubeconfig", s.cluster.Kubeconfig,
			"delete", "mutatingwebhookconfigurations", "relations-mutating-webhook", "--ignore-not-found")
		out, err := cmd.CombinedOutput()
		assert.NoError(s.t, err, "%s", out)
	})
}

// namespace makes a namespace of the test's own.
func (s *shell) namespace(name string, labels ...string) {
	s.t.Helper()
	s.run("kubectl create namespace " + name + " --dry-run=client -o yaml | kubectl apply -f -")
	if len(labels) > 0 {
		s.run("kubectl label --overwrite namespace " + name + " " + strings.Join(labels, " "))
	}
}
