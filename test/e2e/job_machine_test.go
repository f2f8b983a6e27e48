package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
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
		"home/admin/.ssh/authorized_keys":          authorized,
		"etc/docker/certs.d/" + r.host + "/ca.crt": string(r.ca),
		"root/.docker/config.json":                 fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, r.host, credentials),
	} {
		require.NoError(w.t, os.MkdirAll(filepath.Dir(filepath.Join(m.root, file)), 0o700))
		require.NoError(w.t, os.WriteFile(filepath.Join(m.root, file), []byte(text), 0o600))
	}
	m.runs("chroot", m.root, "chown", "--recursive", "admin:", "/home/admin/.ssh")
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

// becomesNode has a template of the shipped type ansible make a machine a RunNode, by the shipped playbook, SSH and a user who
// is not root. Run again, it changes nothing, and with another image it replaces the agent alone (JOBS.md J13 and J15).
func (w *world) becomesNode(r imageRegistry) {
	client, clientPublic := keyPair(w.t)
	host, hostPublic := keyPair(w.t)
	m := w.boot(host, clientPublic, r)
	w.kubectl("apply", "-f", deployment(w.t, "examples/jobs/run-node.yaml"))
	orcon := controlplane.Binary(w.t, "orcon")
	code, out := w.orcon(orcon, "job", "template", "push", deployment(w.t, "run-node"), "--template", "run-node")
	require.Zero(w.t, code, out)
	w.hasSecret("lab-1", map[string]string{"key": client, "known_hosts": machineAddress + " " + hostPublic})
	w.joinsBy(r.runner)
	w.leavesNoToken(m)
	assert.Contains(w.t, w.carried("lab-1", "deploy", "Succeeded"), "changed=0 ")

	w.administers(orcon, "node", "approve", "lab-1", "--namespaces", w.namespace, "--yes")
	m.docker("pull", r.busybox)
	w.apply(fmt.Sprintf(elsewhere, r.busybox))
	run := w.begin("elsewhere", "wait")
	w.phase(run, "Running")
	assert.Equal(w.t, r.runner, m.agent())
	w.kubectl("patch", "jobworkspace", "lab-1", "--type=merge", "-p", `{"spec":{"parameters":{"image":"`+r.another+`"}}}`)
	assert.Contains(w.t, w.carried("lab-1", "deploy", "Succeeded"), "changed=2 ", "the unit, and the service")
	assert.Equal(w.t, r.another, m.agent())
	assert.Equal(w.t, "Running", w.field("jobrun/"+run, "{.status.phase}"))
	m.docker("exec", "orcon-"+w.field("jobrun/"+run, "{.metadata.uid}")+"-1", "touch", "/tmp/go")
	w.phase(run, "Succeeded")
	assert.Equal(w.t, "1 1", w.field("jobrun/"+run, "{.status.attempt} {.status.fence}"), "it outlives the agent")
	assert.Equal(w.t, "hello\n", w.logOf(run))
}

// joinsBy has the machine join by a token that is minted for the run, once a cluster administrator permits that. An
// administrator of the namespace cannot (JOBS-DESIGN.md 16).
func (w *world) joinsBy(image string) {
	w.t.Helper()
	w.set("lab-1", map[string]any{"host": machineAddress, "ansible_user": "admin", "image": image})
	run := w.begin("lab-1", "deploy")
	permit := []string{
		"create", "rolebinding", "orcon-job-tokens", "--clusterrole=orcon-job-tokens", "--serviceaccount=orcon-system:job-controller",
	}
	w.hindered(run, "cannot mint a token for RunNode lab-1, which is file token of the run: ",
		"kubectl create rolebinding orcon-job-tokens -n "+w.namespace)
	w.kubectl("create", "serviceaccount", "owner")
	w.kubectl("create", "rolebinding", "owner", "--clusterrole=admin", "--serviceaccount="+w.namespace+":owner")
	out, err := w.as("owner").try(permit...)
	require.Error(w.t, err)
	assert.Contains(w.t, out, "attempting to grant RBAC permissions not currently held")
	w.kubectl(permit...)
	w.phase(run, "Succeeded")
	assert.Contains(w.t, w.logOf(run), "RunNode lab-1 has key "+w.field("runnode/lab-1", "{.state.key}"))
}

// leavesNoToken looks for the token by which the machine has joined in objects, and for another one in what a run prints
// (JOBS.md J14).
func (w *world) leavesNoToken(m *machine) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.root, "var", "lib", "orcon", "token"))
	require.NoError(w.t, err)
	token, err := node.ParseInvitation(string(text))
	require.NoError(w.t, err)
	assert.Equal(w.t, node.Digest([]byte(token.Secret)), w.field("runnode/lab-1", "{.state.token.digest}"))
	w.apply(fmt.Sprintf(showing, w.byDigest("docker.io/library/busybox:stable")))
	log := w.carried("showing", "show", "Succeeded")
	assert.Equal(w.t, "key known_hosts token\n[redacted]\n[redacted]\n", log)
	assert.NotEqual(w.t, node.Digest([]byte(token.Secret)), w.field("runnode/lab-1", "{.state.token.digest}"), "one for each run")
	all := w.kubectl("get", "jobruns,jobworkspaces,jobtemplates,jobtemplateversions,runnodes,jobs,pods,secrets,configmaps,events", "-o", "yaml") +
		w.kubectl("-n", "orcon-system", "get", "secrets,configmaps,leases,events", "-o", "yaml")
	for _, part := range []string{token.Secret, token.String(), base64.StdEncoding.EncodeToString([]byte(token.String()))} {
		assert.NotContains(w.t, all, part)
	}
}

// showing is a template that prints what must not be seen.
const showing = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: showing}
spec:
  image: %q
  contract: v1
  actions:
    - name: show
      entrypoint: [sh, -ec]
      args: ['cd "$ORCON_SECRETS"; echo *; cat token; echo; base64 -w0 token; echo; ! touch more 2>/dev/null']
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: showing}
spec:
  template: showing
  secrets:
    - {name: token, joinToken: {node: lab-1}}
    - {name: key, secret: lab-1, key: key}
    - {name: known_hosts, secret: lab-1, key: known_hosts}
`

// elsewhere is a template, and a JobWorkspace whose runs the machine carries out.
const elsewhere = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: elsewhere}
spec:
  image: %q
  contract: v1
  actions:
    - {name: wait, entrypoint: [sh, -ec], args: ['until test -e /tmp/go; do sleep 0.1; done; echo hello']}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: elsewhere}
spec: {template: elsewhere, target: {runNode: {name: lab-1}}}
`

// docker runs a command of Docker on the machine.
func (m *machine) docker(args ...string) string {
	m.t.Helper()
	out, err := exec.Command("nsenter", append([]string{"--all", "--target", strconv.Itoa(m.pid), "docker"}, args...)...).CombinedOutput()
	require.NoError(m.t, err, string(out))
	return strings.TrimSpace(string(out))
}

// agent returns the image of the agent.
func (m *machine) agent() string {
	m.t.Helper()
	return m.docker("inspect", "--format={{.Config.Image}}", "orcon-agent")
}

// administers runs a command of orcon job that is about no namespace, and returns its output.
func (w *world) administers(orcon string, args ...string) string {
	w.t.Helper()
	out, err := exec.CommandContext(w.t.Context(), orcon, append([]string{"job", "--kubeconfig", w.Kubeconfig}, args...)...).Output()
	require.NoError(w.t, err)
	return string(out)
}
