package integration

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// controllerProcess is the real binary.
type controllerProcess struct {
	cmd *exec.Cmd
	// api and health are the URLs of its servers.
	api    string
	health string
	said   *lockedBuffer
}

// lockedBuffer keeps what a process says while it runs.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the text.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns the text.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// controllerUser is the controller's account.
const controllerUser = "system:serviceaccount:default:relations-controller"

// kubeconfigOf returns a file that lets a binary act with the rights of a user. The address is the way to the API
// server; by default the direct one.
func (w *controllerWorld) kubeconfigOf(name string, address ...string) string {
	cfg, err := clientcmd.LoadFromFile(w.cluster.Kubeconfig)
	require.NoError(w.t, err)
	for _, user := range cfg.AuthInfos {
		user.Impersonate = name
	}
	for _, at := range address {
		for _, c := range cfg.Clusters {
			c.Server = "https://" + at
		}
	}
	path := filepath.Join(w.t.TempDir(), "kubeconfig")
	require.NoError(w.t, clientcmd.WriteToFile(*cfg, path))
	return path
}

// startProcess runs a replica of the binary, and waits until it is ready. Further flags may replace those of launch.
func (w *controllerWorld) startProcess(program, kubeconfig string, flags ...string) *controllerProcess {
	w.t.Helper()
	var p *controllerProcess
	w.eventually("a replica is ready", func() bool {
		if p == nil || strings.Contains(p.said.String(), "address already in use") { // another test has taken the port meanwhile
			p = w.launch(program, kubeconfig, flags...)
		}
		return p.get("/readyz") == http.StatusOK
	})
	return p
}

// launch starts a replica at ports that are free.
func (w *controllerWorld) launch(program, kubeconfig string, flags ...string) *controllerProcess {
	w.t.Helper()
	api, health := controlplane.FreePort(w.t), controlplane.FreePort(w.t)
	p := &controllerProcess{
		api: fmt.Sprintf("https://127.0.0.1:%d", api), health: fmt.Sprintf("http://127.0.0.1:%d", health), said: &lockedBuffer{},
	}
	flags = append([]string{
		"-namespace=default", "-v=1", "-kubeconfig=" + kubeconfig, fmt.Sprintf("-port=%d", api), fmt.Sprintf("-healthPort=%d", health),
	}, flags...)
	p.cmd = exec.CommandContext(w.ctx, program, flags...)
	p.cmd.Stderr, p.cmd.Env = p.said, append(os.Environ(), "POD_IP=127.0.0.1")
	require.NoError(w.t, p.cmd.Start())
	w.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		if w.t.Failed() {
			w.t.Log(p.said.String())
		}
	})
	return p
}

func (p *controllerProcess) get(path string) int {
	res, err := http.Get(p.health + path)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res.StatusCode
}

// lease returns the Lease of the controller's leader; an empty one if there is none.
func (w *controllerWorld) lease() *coordinationv1.Lease {
	lease := object.Named(&coordinationv1.Lease{}, "default", "relations-controller")
	_ = w.admin.Get(w.ctx, client.ObjectKeyFromObject(lease), lease)
	return lease
}

// leader returns the identity of the controller's leader; empty if there is none.
func (w *controllerWorld) leader() string { return ptr.Deref(w.lease().Spec.HolderIdentity, "") }

// Two replicas of the real binary, with the rights of deployment/rbac: the
// leader is killed without a word, the other takes over and goes on; an orderly
// end hands over at once.
func TestControllerLeaderKilled(t *testing.T) {
	w := newControllerWorld(t)
	program, kubeconfig := controlplane.Binary(w.t, "relations-controller"), w.kubeconfigOf(controllerUser)
	first := w.startProcess(program, kubeconfig)
	w.eventually("a leader", func() bool { return w.leader() != "" })
	led := w.leader()
	second := w.startProcess(program, kubeconfig)
	w.create(w.provider("db-endpoint", "db.tengu.io"))
	w.eventually("the leader works", func() bool { return w.bag("db-endpoint").State.Version != "" })

	require.NoError(t, first.cmd.Process.Signal(syscall.SIGKILL))
	began := time.Now()
	w.create(w.consumer("sleep", consumes("db", "db-endpoint")))
	assert.Equal(t, http.StatusOK, second.get("/readyz"), "agents are served meanwhile")
	w.becomes("db-endpoint", "Complete")
	t.Logf("from the leader's death to the next relation: %s", time.Since(began).Round(100*time.Millisecond))
	assert.NotEqual(t, led, w.leader())

	third := w.startProcess(program, kubeconfig)
	require.NoError(t, second.cmd.Process.Signal(syscall.SIGTERM))
	began = time.Now()
	w.create(w.provider("sse-endpoint", "sse.tengu.io"))
	w.eventually("the third works", func() bool { return w.bag("sse-endpoint").State.Version != "" })
	t.Logf("from the leader's orderly end to the next databag: %s", time.Since(began).Round(100*time.Millisecond))
	for _, p := range []*controllerProcess{first, second, third} {
		assert.NotContains(t, p.said.String(), "forbidden", "deployment/rbac grants what the binary needs")
		assert.NotContains(t, p.said.String(), "panic")
	}
}

// What is wrong with the flags is told, and is no panic.
func TestControllerBinaryTellsWhatIsWrong(t *testing.T) {
	w := newControllerWorld(t)
	cmd := exec.CommandContext(w.ctx, controlplane.Binary(w.t, "relations-controller"), "-namespace=default", "-kubeconfig="+w.cluster.Kubeconfig, "-tlsCertFile=/none/tls.crt", "-tlsKeyFile=/none/tls.key", "-trustFile=/none/ca.crt")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "/none/tls.crt")
	assert.NotContains(t, string(out), "panic")
}
