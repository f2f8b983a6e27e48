// Package clustertest runs a cluster for the length of a Go test, by way of the
// cluster program alone, so that a test of any module can do the same.
//
// A Kubernetes client must not come in: tests bring their own.
package clustertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Forms of a cluster.
const (
	ControlPlane = "control-plane"
	Node         = "node"
)

// endTimeout is how long a cluster may take to end, also on a loaded machine.
const endTimeout = 5 * time.Minute

// Cluster is what `cluster run` reports; see README.md for the fields.
type Cluster struct {
	Name        string         `json:"name"`
	Dir         string         `json:"dir"`
	Form        string         `json:"form"`
	Kubeconfig  string         `json:"kubeconfig"`
	APIServer   string         `json:"apiServer"`
	HostAddress string         `json:"hostAddress"`
	Programs    string         `json:"programs"`
	AuditLog    string         `json:"auditLog"`
	Supervisor  int            `json:"supervisor"`
	NetnsPID    int            `json:"netnsPid"`
	Nodes       map[string]int `json:"nodes"`
	PIDs        map[string]int `json:"pids"`

	program string
	command *exec.Cmd
	stdin   io.Closer
	ended   chan error
	stderr  *bytes.Buffer
}

// Program returns bin/cluster of this repository, and fails the test if it is
// not built.
func Program(tb testing.TB) string {
	tb.Helper()
	folder, err := os.Getwd()
	if err != nil {
		tb.Fatalf("cannot find the repository: %v", err)
	}
	// The repository is the folder above that has this module in its place.
	for !exists(filepath.Join(folder, "test", "cluster", "go.mod")) {
		above := filepath.Dir(folder)
		if above == folder {
			tb.Fatal("cannot find the repository: run the test inside it")
		}
		folder = above
	}
	program := filepath.Join(folder, "bin", "cluster")
	if !exists(program) {
		tb.Fatalf("cannot use %s: it is not there; run test/cluster/build.sh", program)
	}
	return program
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// Up runs a cluster until the test ends, with these arguments too. If the test's
// process dies, the cluster ends too.
func Up(tb testing.TB, form string, arguments ...string) *Cluster {
	tb.Helper()
	c := &Cluster{program: Program(tb), ended: make(chan error, 1), stderr: &bytes.Buffer{}}
	c.command = exec.Command(c.program, append([]string{"run", "--form", form}, arguments...)...)
	c.command.Stderr = c.stderr
	stdin, err := c.command.StdinPipe()
	if err != nil {
		tb.Fatalf("cannot run a cluster: %v", err)
	}
	stdout, err := c.command.StdoutPipe()
	if err != nil {
		tb.Fatalf("cannot run a cluster: %v", err)
	}
	if err := c.command.Start(); err != nil {
		tb.Fatalf("cannot run a cluster: %v", err)
	}
	c.stdin = stdin
	tb.Cleanup(func() { c.Down(tb) })
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	go func() { c.ended <- c.command.Wait() }()
	if err != nil {
		end := <-c.ended
		c.ended <- nil // so that the clean-up does not wait
		tb.Fatalf("cannot bring up a cluster: %v\n%s", end, c.stderr)
	}
	if err := json.Unmarshal(line, c); err != nil {
		tb.Fatalf("cannot read the cluster's report %q: %v", line, err)
	}
	return c
}

// Down ends the cluster and waits until nothing of it is left. A second call
// does nothing.
func (c *Cluster) Down(tb testing.TB) {
	tb.Helper()
	_ = c.stdin.Close()
	select {
	case err := <-c.ended:
		c.ended <- nil
		if err != nil {
			tb.Errorf("the cluster ended with %v:\n%s", err, c.stderr)
		}
	case <-time.After(endTimeout):
		tb.Errorf("the cluster did not end within %s:\n%s", endTimeout, c.stderr)
	}
}

// Run runs the cluster program on this cluster, for instance
// Run(t, "kill", "kubelet"), and returns what it printed.
func (c *Cluster) Run(tb testing.TB, verb string, arguments ...string) string {
	tb.Helper()
	out, err := c.Try(verb, arguments...)
	if err != nil {
		tb.Fatalf("cluster %s %q: %v\n%s", verb, arguments, err, out)
	}
	return out
}

// Try is Run for a command that may fail.
func (c *Cluster) Try(verb string, arguments ...string) (string, error) {
	command := exec.Command(c.program, append([]string{verb, "--dir", c.Dir}, arguments...)...)
	out, err := command.CombinedOutput()
	return string(out), err
}

// Kubectl runs kubectl on this cluster and returns what it printed.
func (c *Cluster) Kubectl(tb testing.TB, arguments ...string) string {
	tb.Helper()
	out, err := c.TryKubectl("", arguments...)
	if err != nil {
		tb.Fatalf("kubectl %q: %v\n%s", arguments, err, out)
	}
	return out
}

// Apply applies manifests.
func (c *Cluster) Apply(tb testing.TB, manifests string) {
	tb.Helper()
	if out, err := c.TryKubectl(manifests, "apply", "-f", "-"); err != nil {
		tb.Fatalf("kubectl apply: %v\n%s", err, out)
	}
}

// TryKubectl is Kubectl for a command that may fail or has input.
func (c *Cluster) TryKubectl(input string, arguments ...string) (string, error) {
	command := exec.Command(filepath.Join(c.Programs, "kubectl"), arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	command.Stdin = bytes.NewReader([]byte(input))
	out, err := command.CombinedOutput()
	return string(out), err
}

// Attach returns the cluster that is up in a folder. It goes on after the test.
func Attach(tb testing.TB, dir string) *Cluster {
	tb.Helper()
	c := &Cluster{program: Program(tb), Dir: dir}
	if err := json.Unmarshal([]byte(c.Run(tb, "status", "--json")), c); err != nil {
		tb.Fatalf("cannot read the cluster's status: %v", err)
	}
	return c
}
