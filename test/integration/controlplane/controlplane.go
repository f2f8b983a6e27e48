package controlplane

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Forms of a cluster.
const (
	// ControlPlane has etcd, API server, controller manager and scheduler. It
	// needs nothing and runs no pods.
	ControlPlane = "control-plane"
	// Node also has a kubelet with a real container runtime. It needs root.
	Node = "node"
)

// endTimeout is how long a cluster may take to end, also on a loaded machine.
const endTimeout = 5 * time.Minute

// errUnbuilt says that the cluster program is missing.
var errUnbuilt = errors.New("bin/cluster is missing: run make cluster")

// Cluster is a running Kubernetes.
type Cluster struct {
	// Name is unique among clusters on this machine.
	Name string `json:"name"`
	// Dir holds all that the cluster writes; it goes when the cluster ends.
	Dir string `json:"dir"`
	// Form is ControlPlane or Node.
	Form string `json:"form"`
	// Kubeconfig is the administrator's, usable on the host and in the node.
	Kubeconfig string `json:"kubeconfig"`
	// APIServer is the URL in Kubeconfig.
	APIServer string `json:"apiServer"`
	// HostAddress is where API server and pods reach a server of the test.
	HostAddress string `json:"hostAddress"`
	// Programs is a folder with kubectl.
	Programs string `json:"programs"`
	// AuditLog has a JSON line for each request about a pod, or of Orcon's accounts.
	AuditLog string `json:"auditLog"`
	// NetnsPID is a process in the first node's namespaces; 0 without a node.
	NetnsPID int `json:"netnsPid"`
	// Nodes are process 1 of the namespaces of each node, by the node's name.
	Nodes map[string]int `json:"nodes"`

	program string
	stdin   io.Closer
	stderr  *bytes.Buffer
	ended   chan error
	// reader is made when it is first needed.
	reader func() (*reader, error)
}

// Start runs a cluster of the form until the test ends, with flags of `cluster run` behind the form.
func Start(t testing.TB, form ...string) *Cluster {
	t.Helper()
	c, err := run(form...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.end(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// run brings a cluster up and returns once it is ready.
func run(form ...string) (*Cluster, error) {
	program, err := Program()
	if err != nil {
		return nil, err
	}
	c := &Cluster{program: program, stderr: &bytes.Buffer{}, ended: make(chan error, 1)}
	command := exec.CommandContext(context.Background(), program, append([]string{"run", "--form", formOf(form)}, form[min(1, len(form)):]...)...)
	command.Stderr = c.stderr
	if c.stdin, err = command.StdinPipe(); err != nil {
		return nil, fmt.Errorf("cannot run a cluster: %w", err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("cannot run a cluster: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("cannot run a cluster: %w", err)
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	go func() { c.ended <- command.Wait() }()
	if err == nil {
		err = json.Unmarshal(line, c)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot bring up a cluster: %w", errors.Join(err, c.end()))
	}
	c.reader = sync.OnceValues(func() (*reader, error) { return newReader(c.Kubeconfig) })
	return c, nil
}

// formOf returns the form asked for, or ControlPlane.
func formOf(form []string) string {
	if len(form) == 0 {
		return ControlPlane
	}
	return form[0]
}

// end ends the cluster and waits until nothing of it is left. Its audit log is kept in folder ORCON_AUDIT, if that is set.
func (c *Cluster) end() error {
	kept := c.keepAudit(os.Getenv("ORCON_AUDIT"))
	_ = c.stdin.Close()
	timer := time.NewTimer(endTimeout)
	defer timer.Stop()
	select {
	case err := <-c.ended:
		if err != nil {
			return fmt.Errorf("the cluster ended badly: %w\n%s", err, c.stderr)
		}
		return kept
	case <-timer.C:
		return fmt.Errorf("the cluster in %s did not end within %s: %s", c.Dir, endTimeout, c.stderr)
	}
}

// keepAudit copies the audit log to a folder.
func (c *Cluster) keepAudit(folder string) error {
	if folder == "" || c.AuditLog == "" {
		return nil
	}
	log, err := os.ReadFile(c.AuditLog)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, c.Name+".log"), log, 0o600)
	}
	return err
}

// Root returns the folder of the repository: the nearest above the working
// folder that has Orcon's go.mod.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("cannot find the repository: %w", err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module gitlab.ilabt.imec.be/tengu/orcon\n") {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("cannot find the repository: no go.mod of Orcon above the working folder")
		}
		dir = above
	}
}

// Program returns the path of bin/cluster.
func Program() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	program := filepath.Join(root, "bin", "cluster")
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("cannot run a cluster: %w", errUnbuilt)
	}
	return program, nil
}

// Config returns the administrator's client configuration, without a limit on
// requests.
func (c *Cluster) Config(t testing.TB) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatalf("cannot use the cluster's kubeconfig: %v", err)
	}
	config.QPS = -1
	return config
}

// Client returns the administrator's client.
func (c *Cluster) Client(t testing.TB) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(c.Config(t))
	if err != nil {
		t.Fatalf("cannot use the cluster's kubeconfig: %v", err)
	}
	return client
}

// Kill ends a component at once.
func (c *Cluster) Kill(t testing.TB, component string) { t.Helper(); c.Run(t, "kill", component) }

// Stop asks a component to end, and waits until it has.
func (c *Cluster) Stop(t testing.TB, component string) { t.Helper(); c.Run(t, "stop", component) }

// StartComponent runs a component that ended, and waits until it is healthy.
func (c *Cluster) StartComponent(t testing.TB, component string) {
	t.Helper()
	c.Run(t, "start", component)
}

// Run runs a command of the cluster program on this cluster and returns what
// it printed: Run(t, "logs", "kubelet"), Run(t, "load", "image.tar").
func (c *Cluster) Run(t testing.TB, verb string, arguments ...string) string {
	t.Helper()
	out, err := command(c.program, append([]string{verb, "--dir", c.Dir}, arguments...)...)
	if err != nil {
		t.Fatalf("cluster %s %q: %v\n%s", verb, arguments, err, out)
	}
	return out
}

// Established waits until every definition can be used. "kubectl wait" fails where nobody
// has written the status yet.
func (c *Cluster) Established(t testing.TB) {
	t.Helper()
	for begin := time.Now(); ; {
		out, err := command(filepath.Join(c.Programs, "kubectl"), "--kubeconfig", c.Kubeconfig, "wait", "--for=condition=Established", "crd", "--all")
		if err == nil {
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("the definitions cannot be used: %v\n%s", err, out)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// Kubectl runs kubectl on this cluster and returns what it printed.
func (c *Cluster) Kubectl(t testing.TB, arguments ...string) string {
	t.Helper()
	out, err := c.Try(arguments...)
	if err != nil {
		t.Fatalf("kubectl %q: %v\n%s", arguments, err, out)
	}
	return out
}

// Try runs kubectl on this cluster and returns what it printed, and an error if it failed.
func (c *Cluster) Try(arguments ...string) (string, error) {
	return command(filepath.Join(c.Programs, "kubectl"), append([]string{"--kubeconfig", c.Kubeconfig}, arguments...)...)
}

// command runs a program and returns all that it printed.
func command(program string, arguments ...string) (string, error) {
	out, err := exec.CommandContext(context.Background(), program, arguments...).CombinedOutput()
	return string(out), err
}
