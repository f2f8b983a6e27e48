package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// machine is a Debian machine with systemd and a network of its own, which a wire joins with the cluster's.
type machine struct {
	t    *testing.T
	root string
	pid  int
}

// The addresses of the wire.
const (
	machineAddress = "10.98.0.2"
	machineGateway = "10.98.0.1"
)

// boot boots a machine that is reached by SSH, and may pull from a registry.
func (w *world) boot(host, authorized string, r imageRegistry) *machine {
	w.t.Helper()
	m := &machine{t: w.t, root: filepath.Join(w.t.TempDir(), "root")}
	require.NoError(w.t, os.Mkdir(m.root, 0o755))
	m.runs("tar", "-xf", filepath.Join(repository(w.t), "dist", "machine.tar"), "-C", m.root)
	credentials := base64.StdEncoding.EncodeToString([]byte(pusher + ":" + pusherPassword))
	for file, text := range map[string]string{
		"etc/ssh/ssh_host_ed25519_key":             host,
		"root/.ssh/authorized_keys":                authorized,
		"etc/docker/certs.d/" + r.host + "/ca.crt": string(r.ca),
		"root/.docker/config.json":                 fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, r.host, credentials),
	} {
		require.NoError(w.t, os.MkdirAll(filepath.Dir(filepath.Join(m.root, file)), 0o700))
		require.NoError(w.t, os.WriteFile(filepath.Join(m.root, file), []byte(text), 0o600))
	}
	name := "orcon-machine-" + strconv.Itoa(os.Getpid())
	c := exec.Command(filepath.Join(repository(w.t), "test", "machine", "boot.sh"), m.root, name)
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	require.NoError(w.t, c.Start())
	m.pid = c.Process.Pid
	w.t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		m.runs("find", "/sys/fs/cgroup", "-depth", "-type", "d", "-path", "*/"+name+"*", "-delete")
	})
	cluster, own := w.within(w.NetnsPID), w.within(m.pid)
	cluster("ip", "link", "add", "m1", "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(m.pid))
	cluster("ip", "addr", "add", machineGateway+"/30", "dev", "m1")
	cluster("ip", "link", "set", "m1", "up")
	cluster("iptables", "-t", "nat", "-A", "POSTROUTING", "-s", machineAddress, "-j", "MASQUERADE") // the host knows no way back
	own("ip", "addr", "add", machineAddress+"/30", "dev", "eth0")
	own("ip", "link", "set", "lo", "up")
	own("ip", "link", "set", "eth0", "up")
	own("ip", "route", "add", "default", "via", machineGateway)
	return m
}

// within returns what runs a command in the network of a process.
func (w *world) within(pid int) func(args ...string) {
	m := &machine{t: w.t}
	return func(args ...string) {
		w.t.Helper()
		m.runs("nsenter", append([]string{"--net", "--target", strconv.Itoa(pid)}, args...)...)
	}
}

// runs runs a command of this machine.
func (m *machine) runs(program string, args ...string) {
	m.t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	require.NoError(m.t, err, string(out))
}

// becomesNode has a template of the shipped type ansible make a machine a RunNode, by the shipped playbook and SSH. Run again,
// it changes nothing, and the machine carries out runs (JOBS.md J13 and J15).
func (w *world) becomesNode(r imageRegistry) {
	client, clientPublic := keyPair(w.t)
	host, hostPublic := keyPair(w.t)
	m := w.boot(host, clientPublic, r)
	w.kubectl("apply", "-f", deployment(w.t, "examples/jobs/run-node.yaml"))
	orcon := controlplane.Binary(w.t, "orcon")
	code, out := w.orcon(orcon, "job", "template", "push", deployment(w.t, "run-node"), "--template", "run-node")
	require.Zero(w.t, code, out)
	w.hasSecret("lab-1", map[string]string{
		"key": client, "known_hosts": machineAddress + " " + hostPublic, "token": w.administers(orcon, "node", "join", "lab-1"),
	})
	w.set("lab-1", map[string]any{"host": machineAddress, "ansible_user": "root", "image": r.runner})
	log := w.carried("lab-1", "deploy", "Succeeded")
	assert.Contains(w.t, log, "RunNode lab-1 has key "+w.field("runnode/lab-1", "{.state.key}"))
	assert.Contains(w.t, w.carried("lab-1", "deploy", "Succeeded"), "changed=0 ")
	w.administers(orcon, "node", "approve", "lab-1", "--namespaces", w.namespace, "--yes")
	m.runs("nsenter", "--all", "--target", strconv.Itoa(m.pid), "docker", "pull", r.busybox)
	w.apply(fmt.Sprintf(elsewhere, r.busybox))
	assert.Equal(w.t, "hello\n", w.carried("elsewhere", "greet", "Succeeded"))
}

// elsewhere is a template, and a JobWorkspace whose runs the machine carries out.
const elsewhere = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: elsewhere}
spec: {image: %q, contract: v1, actions: [{name: greet, entrypoint: [echo, hello]}]}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: elsewhere}
spec: {template: elsewhere, target: {runNode: {name: lab-1}}}
`

// administers runs a command of orcon job that is about no namespace, and returns its output.
func (w *world) administers(orcon string, args ...string) string {
	w.t.Helper()
	out, err := exec.CommandContext(w.t.Context(), orcon, append([]string{"job", "--kubeconfig", w.Kubeconfig}, args...)...).Output()
	require.NoError(w.t, err)
	return string(out)
}
