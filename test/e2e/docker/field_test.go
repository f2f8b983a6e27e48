package docker_test

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
	"gitlab.ilabt.imec.be/tengu/orcon/test/docker"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// field is a cluster without nodes, the controller of runs as a process with its own permissions, and a machine elsewhere
// with its agent.
type field struct {
	*controlplane.Cluster

	t      *testing.T
	folder string
	// node is the folder of the agent; its path is short, as sockets lie below it. Memory is the one of its secrets.
	node, memory string
	// reached is how the agent reaches the controller; "" is by wire. proxy is on the way; nil for none.
	reached string
	proxy   *proxy
	// socket is that of the agent's engine.
	socket string
	// wire is the agent's way to the controller, link the controller's to the API server.
	wire, link *chaos.Link
	states     string
	// serving are the arguments of the controller, machine further ones of the agent.
	serving    []string
	machine    []string
	controller *exec.Cmd
	agent      *exec.Cmd
}

// lab is the name of the RunNode, shop a namespace that it permits.
const (
	lab    = "lab-1"
	shop   = "shop"
	system = "orcon-system"
)

// reach has the API server find the controller, which is a process of this machine.
const reach = `
apiVersion: v1
kind: Service
metadata: {name: job-controller, namespace: orcon-system}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1alpha1.jobs.orcon.tengu.io}
spec:
  group: jobs.orcon.tengu.io
  version: v1alpha1
  groupPriorityMinimum: 100
  versionPriority: 10
  caBundle: %s
  service: {name: job-controller, namespace: orcon-system, port: %d}
`

func newField(t *testing.T) *field { return newFieldAt(t, "") }

// newFieldAt returns a field whose agent reaches the controller by an address; "" is the nearest. Flags are the controller's.
func newFieldAt(t *testing.T, reached string, flags ...string) *field {
	f := &field{Cluster: controlplane.Start(t), t: t, folder: t.TempDir(), reached: reached, socket: docker.Socket()}
	root, err := controlplane.Root()
	require.NoError(t, err)
	deployment := filepath.Join(root, "deployment")
	f.Kubectl(t, "apply", "-k", filepath.Join(deployment, "crd"))
	f.Established(t)
	f.Kubectl(t, "create", "namespace", system)
	f.Kubectl(t, "create", "namespace", shop)
	for _, file := range []string{"rbac.yaml", "people.yaml", "state.yaml"} {
		f.Kubectl(t, "apply", "-f", filepath.Join(deployment, "job-controller", file))
	}
	f.node, err = os.MkdirTemp("", "n") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(f.node) })
	f.memory, err = os.MkdirTemp("/dev/shm", "orcon-") //nolint:usetesting // a tmpfs
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(f.memory) })
	f.prepareController()
	f.serving = append(f.serving, flags...)
	f.startController()
	return f
}

// of returns the field for a test of its own.
func (f *field) of(t *testing.T) *field {
	own := *f
	own.t = t
	return &own
}

// prepareController makes what the controller has: a certificate, permissions, and a directory for states.
func (f *field) prepareController() {
	t := f.t
	root, err := certificate.NewRoot(time.Now(), certificate.DefaultPeriods())
	require.NoError(t, err)
	leaf, err := root.NewLeaf([]string{"job-controller.orcon-system.svc"}, time.Now(), certificate.DefaultPeriods())
	require.NoError(t, err)
	for name, text := range leaf {
		require.NoError(t, os.WriteFile(filepath.Join(f.folder, name), text, 0o600))
	}
	port, nodes := controlplane.FreePort(t), controlplane.FreePort(t)
	f.wire, f.link = newLink(t, fmt.Sprintf("127.0.0.1:%d", nodes)), newLink(t, strings.TrimPrefix(f.APIServer, "https://"))
	f.apply(fmt.Sprintf(reach, base64.StdEncoding.EncodeToString(certificate.Bundle(root.Certificate)), port))
	config := filepath.Join(f.folder, "kubeconfig")
	text, err := os.ReadFile(f.Kubeconfig)
	require.NoError(t, err)
	linked := strings.ReplaceAll(string(text), f.APIServer, "https://"+f.link.Address())
	require.NoError(t, os.WriteFile(config, []byte(linked), 0o600))
	token := strings.TrimSpace(f.Kubectl(t, "-n", system, "create", "token", "job-controller", "--duration=2h"))
	for _, args := range [][]string{
		{"set-credentials", "job-controller", "--token=" + token}, {"set-context", "--current", "--user=job-controller"},
	} {
		f.Kubectl(t, append([]string{"--kubeconfig=" + config, "config"}, args...)...)
	}
	f.states = filepath.Join(f.folder, "states")
	require.NoError(t, os.MkdirAll(f.states, 0o700))
	f.serving = []string{
		"-kubeconfig", config, "-namespace", system, "-leaderElect=false",
		"-env", "SITE=lab",
		"-runnerImage", "localhost/none", "-directory", f.states, "-received", f.folder, "-contents", filepath.Join(f.folder, "contents"),
		"-templateRegistry", docker.RegistryHost() + "/templates", "-port", fmt.Sprint(port), "-healthPort", fmt.Sprint(controlplane.FreePort(t)), "-nodePort", fmt.Sprint(nodes),
		"-tlsCertFile", filepath.Join(f.folder, "tls.crt"), "-tlsKeyFile", filepath.Join(f.folder, "tls.key"),
		"-nodeAddress", "https://" + cmp.Or(f.reached, f.wire.Address()),
	}
}

// newLink forwards connections to an address, unless it is cut.
func newLink(t *testing.T, to string) *chaos.Link {
	l, err := chaos.NewLink(func() []string { return []string{to} })
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return l
}

// startController starts the controller, also in place of one that was killed.
func (f *field) startController() {
	f.controller = f.start(filepath.Join(docker.Folder(), controllerName), nil, f.serving...)
}

// start starts a program with further variables, which ends with the test.
func (f *field) start(program string, environment []string, args ...string) *exec.Cmd {
	file := filepath.Join(f.folder, filepath.Base(program)+".log")
	again := exists(file)
	log, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(f.t, err)
	c := exec.CommandContext(f.t.Context(), program, args...)
	c.Env = append(os.Environ(), environment...)
	c.Stdout, c.Stderr, c.SysProcAttr = log, log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(f.t, c.Start())
	require.NoError(f.t, log.Close())
	f.t.Cleanup(func() {
		f.kill(c)
		if text, err := os.ReadFile(file); err == nil && f.t.Failed() && !again {
			f.t.Logf("%s: …%s", file, text[max(0, len(text)-4000):])
		}
	})
	return c
}

// log returns what a program has logged.
func (f *field) log(program string) string {
	text, err := os.ReadFile(filepath.Join(f.folder, program+".log"))
	require.NoError(f.t, err)
	return string(text)
}

// kill kills a program; one that has ended stays so.
func (f *field) kill(c *exec.Cmd) {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// startAgent starts the agent of the machine, in place of one that was killed.
func (f *field) startAgent() { f.startBuild(programName) }

// startBuild starts a build of the agent.
func (f *field) startBuild(name string) {
	var environment []string
	if f.proxy != nil {
		environment = append(environment, "HTTPS_PROXY=http://"+f.proxy.address())
	}
	f.agent = f.start(filepath.Join(docker.Folder(), name), environment, append([]string{
		"agent", "--folder", f.node, "--secrets", f.memory, "--engine", "unix://" + f.socket,
		"--join", filepath.Join(f.folder, "token"), "--renew", "1s", "--retry", "1s",
	}, f.machine...)...)
}

// orcon runs the command line.
func (f *field) orcon(args ...string) string {
	f.t.Helper()
	out, err := f.try(args...)
	require.NoError(f.t, err, out)
	return out
}

func (f *field) try(args ...string) (string, error) {
	c := exec.CommandContext(f.t.Context(), filepath.Join(docker.Folder(), orconName), args...)
	c.Env = append(os.Environ(), "KUBECONFIG="+f.Kubeconfig)
	out, err := c.CombinedOutput()
	return string(out), err
}

// apply applies manifests.
func (f *field) apply(manifests string) {
	f.t.Helper()
	file := filepath.Join(f.t.TempDir(), "manifests.yaml")
	require.NoError(f.t, os.WriteFile(file, []byte(manifests), 0o600))
	f.Kubectl(f.t, "apply", "-f", file)
}

// value returns a field of an object; "" where there is none.
func (f *field) value(object, path string) string {
	value, _ := f.Field(f.t.Context(), shop, object, path)
	return value
}

// joins has the machine join, and a person adopt it.
func (f *field) joins() {
	f.t.Helper()
	f.invite()
	f.startAgent()
	f.becomes("runnode/"+lab, "Pending")
	f.orcon("job", "node", "approve", lab, "--namespaces", shop, "--capacity", "20", "--yes")
	f.becomes("runnode/"+lab, "Ready")
}

// invite makes a token for the machine, which is in a file of that.
func (f *field) invite() {
	f.t.Helper()
	var token string
	require.NoError(f.t, within(f.t, func() bool {
		out, err := f.try("job", "node", "join", lab)
		token = out
		return err == nil
	}), token)
	require.NoError(f.t, os.WriteFile(filepath.Join(f.folder, "token"), []byte(token), 0o600))
}

// becomes waits until an object has a phase.
func (f *field) becomes(object, want string) {
	f.t.Helper()
	const path = "{.status.phase}"
	err := within(f.t, func() bool { return f.value(object, path) == want })
	require.NoError(f.t, err, "%s is %q: %s", object, f.value(object, path), f.value(object, "{.status.conditions[*].message}"))
}
