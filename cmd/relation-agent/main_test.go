package main_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/stream/streamtest"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// binary is built once, as it is shipped.
var binary string //nolint:gochecknoglobals // TestMain has no other way to hand it on

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "relation-agent")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "relation-agent")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=v1.2.3", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("cannot build: %v\n%s", err, out))
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// pod is a pod's volumes and the agent in it.
type pod struct {
	t    *testing.T
	root string
	env  []string
	log  *log
	cmd  *exec.Cmd
	done chan error
}

// log collects what the agent says.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newPod(t *testing.T, address, trust string) *pod {
	t.Helper()
	root, err := os.MkdirTemp("", "pod") //nolint:usetesting // a socket's path has at most 108 bytes
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	for _, dir := range []string{"bindings", "run", "state", "identity"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	p := &pod{t: t, root: root, log: &log{}}
	p.put("identity/token", "token-1")
	p.env = []string{
		"POD_NAME=sleep-1", "POD_NAMESPACE=demo", "ORCON_ADDRESS=" + address, "ORCON_SERVER_NAME=" + streamtest.ServerName,
		"ORCON_TRUST=" + trust, "ORCON_CONSUMES=db",
	}
	return p
}

func (p *pod) put(path, content string) {
	p.t.Helper()
	require.NoError(p.t, os.WriteFile(filepath.Join(p.root, path), []byte(content), 0o600))
}

func (p *pod) read(path string) string {
	content, _ := os.ReadFile(filepath.Join(p.root, path))
	return string(content)
}

func (p *pod) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, append([]string{"-root", p.root}, args...)...)
	cmd.Env, cmd.Stderr = p.env, p.log
	return cmd
}

// start runs the agent until the test ends.
func (p *pod) start() {
	p.t.Helper()
	cmd, done := p.command(), make(chan error, 1)
	require.NoError(p.t, cmd.Start())
	p.cmd, p.done = cmd, done
	go func() { done <- cmd.Wait() }()
	p.t.Cleanup(func() { _ = cmd.Process.Kill() })
}

// stop sends a signal and returns how the agent ended and after how long.
func (p *pod) stop(signal os.Signal) (time.Duration, error) {
	p.t.Helper()
	began := time.Now()
	require.NoError(p.t, p.cmd.Process.Signal(signal))
	select {
	case err := <-p.done:
		return time.Since(began), err
	case <-time.After(10 * time.Second):
		require.FailNow(p.t, "the agent does not end", p.log.String())
		return 0, nil
	}
}

// wait runs the startup probe's command; the channel gets how it ended.
func (p *pod) wait() <-chan error { return p.background("wait") }

func (p *pod) background(command string) <-chan error {
	cmd, done := p.command(command), make(chan error, 1)
	require.NoError(p.t, cmd.Start())
	p.t.Cleanup(func() { _ = cmd.Process.Kill() })
	go func() { done <- cmd.Wait() }()
	return done
}

func (p *pod) eventually(what string, condition func() bool) {
	p.t.Helper()
	deadline := time.After(time.Minute)
	for !condition() {
		select {
		case <-deadline:
			require.FailNow(p.t, "does not come true: "+what, p.log.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (p *pod) status() string {
	out, _ := p.command("status").Output()
	return string(out)
}

func database(revision uint64, host string) *wire.Snapshot {
	r := &wire.Relation{
		Id: 7, Uid: "uid-7", Endpoint: "db", Interface: "db", RemoteApplication: "db-endpoint", RemoteNamespace: "demo",
		Reason: "NoData", Message: "db-endpoint has given no data yet",
	}
	if host != "" {
		r.Bag, r.Complete, r.Reason, r.Message = &wire.Databag{Data: map[string]string{"host": host, "port": "5432"}}, true, "", ""
	}
	return &wire.Snapshot{
		Revisions: map[string]uint64{"Relation": revision},
		Unit:      &wire.Unit{Application: "sleep", Namespace: "demo", Known: true, Number: 3},
		Relations: []*wire.Relation{r},
	}
}

func TestTheGateOpensByItselfWhenTheDataComes(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	p := newPod(t, controller.Address(), authority.PEM())
	opened := p.wait() // the probe may come before the agent
	p.start()

	controller.Say(&wire.Snapshot{
		Revisions: map[string]uint64{"Relation": 1},
		Waiting:   []*wire.Waiting{{Endpoint: "db", Reason: "NoApplication", Message: "there is no application db-endpoint in demo"}},
	})
	p.eventually("the log says why the pod waits", func() bool {
		return strings.Contains(p.log.String(), "the gate is closed: waiting for db: there is no application db-endpoint in demo")
	})
	assert.Contains(t, p.status(), "there is no application db-endpoint")
	assert.Empty(t, opened, "INJECTION.md I16: the gate is closed")

	controller.Say(database(2, "db.tengu.io"))
	require.NoError(t, <-opened)
	assert.Equal(t, "db.tengu.io", p.read("bindings/db/host"))
	assert.Equal(t, "db.tengu.io", p.read("bindings/db-7/host"))
	assert.Equal(t, "db", p.read("bindings/db/type"))
	assert.Equal(t, "db-endpoint", p.read("bindings/db/provider"))
	assert.Equal(t, "ORCON_ENV_FILES='1'\nDB='db.tengu.io'\nDB_HOST='db.tengu.io'\nDB_PORT='5432'\n", p.read("run/env"), "SAFETY.md D4")
	assert.Contains(t, p.status(), "sleep/3")

	controller.Say(database(3, "db2.tengu.io"))
	p.eventually("a change reaches file and env", func() bool {
		return p.read("bindings/db/host") == "db2.tengu.io" && strings.Contains(p.read("run/env"), "DB='db2.tengu.io'")
	})
}

// SAFETY.md I17: a pod whose gate is none starts without a controller, but not
// before the env file is there, which the kubelet insists on.
func TestAPodThatDoesNotWait(t *testing.T) {
	p := newPod(t, "https://127.0.0.1:1", streamtest.NewAuthority(t).PEM())
	started := p.background("started")
	assert.Empty(t, started)
	p.start()
	require.NoError(t, <-started)
	assert.FileExists(t, filepath.Join(p.root, "run/env"))
	assert.NoFileExists(t, filepath.Join(p.root, "run/opened"))
}

// SAFETY.md I19: the marker outlives the container, and nothing of the controller
// is needed for a gate that was open.
func TestARestartedAgentDoesNotCloseTheGate(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	controller.Say(database(5, "db.tengu.io"))
	p := newPod(t, controller.Address(), authority.PEM())
	p.start()
	require.NoError(t, <-p.wait())
	controller.Stop()
	_, _ = p.stop(syscall.SIGKILL)

	assert.NoError(t, <-p.wait(), "without an agent")
	p.start()
	assert.NoError(t, <-p.wait(), "without a controller")
	assert.Equal(t, "db.tengu.io", p.read("bindings/db/host"))

	t.Run("and after a reboot of the node, when memory volumes are empty", func(t *testing.T) {
		_, _ = p.stop(syscall.SIGKILL)
		for _, dir := range []string{"bindings", "run"} {
			require.NoError(t, os.RemoveAll(filepath.Join(p.root, dir)))
			require.NoError(t, os.Mkdir(filepath.Join(p.root, dir), 0o755))
		}
		p.start()
		require.NoError(t, <-p.wait())
		assert.Equal(t, "db.tengu.io", p.read("bindings/db/host"))
		assert.Contains(t, p.read("run/env"), "DB='db.tengu.io'\n")
	})
	t.Run("and it says what it has used (SAFETY.md V4)", func(t *testing.T) {
		controller.Start(authority)
		p.eventually("a hello with revisions", func() bool {
			hellos := controller.Hellos()
			return hellos[len(hellos)-1].GetRevisions()["Relation"] == 5
		})
	})
}

// INJECTION.md I16: a waiting pod is deleted at once, also while the controller
// is unreachable.
func TestASignalEndsTheAgentAtOnce(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	tests := map[string]struct {
		why     string
		address string
		ready   string
	}{
		"Connected":   {why: "an open stream is not waited for", address: controller.Address(), ready: "connected to"},
		"Unreachable": {why: "a pause between attempts is not waited for", address: "https://127.0.0.1:1", ready: "trying again"},
		"Hanging":     {why: "a handshake that gets no answer is not waited for", address: deafServer(t), ready: "connecting since"},
	}
	controller.Say(database(1, ""))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, test.address, authority.PEM())
			p.start()
			p.wait()
			p.eventually("ready", func() bool { return strings.Contains(p.log.String()+p.status(), test.ready) })
			took, err := p.stop(syscall.SIGTERM)
			require.NoError(t, err, test.why)
			assert.Less(t, took, 5*time.Second, test.why)
		})
	}
}

// deafServer accepts connections and says nothing.
func deafServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return "https://" + listener.Addr().String()
}

// SAFETY.md I19: the agent exits on no input.
func TestNothingEndsTheAgentButASignal(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	tests := map[string]struct {
		why   string
		spoil func(p *pod)
	}{
		"NoToken":    {why: "a projected volume may be late", spoil: func(p *pod) { _ = os.Remove(filepath.Join(p.root, "identity/token")) }},
		"NoTrust":    {why: "an empty bundle is not a reason to die", spoil: func(p *pod) { p.env = append(p.env, "ORCON_TRUST=") }},
		"NoVolume":   {why: "a volume that cannot be written to may come back", spoil: func(p *pod) { _ = os.RemoveAll(filepath.Join(p.root, "bindings")) }},
		"NoRun":      {why: "nor this one", spoil: func(p *pod) { _ = os.RemoveAll(filepath.Join(p.root, "run")) }},
		"NoState":    {why: "memory is a help, not a need", spoil: func(p *pod) { _ = os.RemoveAll(filepath.Join(p.root, "state")) }},
		"Nonsense":   {why: "a declaration that slipped through admission", spoil: func(p *pod) { p.env = append(p.env, "ORCON_CONSUMES=,,!!", "ORCON_ENV==", "ORCON_LOG_LEVEL=x") }},
		"BadMemory":  {why: "a torn memory is left aside", spoil: func(p *pod) { p.put("state/memory.0", "\x00\x00torn") }},
		"BadAddress": {why: "an address that cannot be dialled", spoil: func(p *pod) { p.env = append(p.env, "ORCON_ADDRESS=::/") }},
		"MetricsTaken": {why: "metrics are the agent's smallest duty", spoil: func(p *pod) {
			p.env = append(p.env, "ORCON_METRICS_ADDRESS="+strings.TrimPrefix(controller.Address(), "https://"))
		}},
	}
	controller.Say(database(1, "db.tengu.io"))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, controller.Address(), authority.PEM())
			test.spoil(p)
			p.start()
			select {
			case err := <-p.done:
				assert.Fail(t, test.why, "%v\n%s", err, p.log)
			case <-time.After(time.Second):
			}
			_, err := p.stop(syscall.SIGTERM)
			assert.NoError(t, err)
		})
	}
}

// SAFETY.md I19: what was broken is mended without a restart.
func TestAVolumeThatComesBackIsUsed(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	controller.Say(database(1, "db.tengu.io"))
	p := newPod(t, controller.Address(), authority.PEM())
	for _, dir := range []string{"bindings", "run"} {
		require.NoError(t, os.Remove(filepath.Join(p.root, dir)))
	}
	p.start()
	p.eventually("it says so", func() bool { return strings.Contains(p.log.String(), "cannot write bindings") })
	for _, dir := range []string{"bindings", "run"} {
		require.NoError(t, os.Mkdir(filepath.Join(p.root, dir), 0o755))
	}
	p.eventually("the gate opens", func() bool { return p.read("bindings/db/host") == "db.tengu.io" })
	require.NoError(t, <-p.wait())
}

// SAFETY.md I20.
func TestTheAgentIsSmall(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	p := newPod(t, controller.Address(), authority.PEM())
	p.start()
	opened := p.wait()
	for i := range 100 {
		controller.Say(database(uint64(i), fmt.Sprintf("db-%d.tengu.io", i)))
	}
	require.NoError(t, <-opened)
	p.eventually("the last of many changes", func() bool { return p.read("bindings/db/host") == "db-99.tengu.io" })

	anonymous, resident := p.memory("Anonymous:"), p.memory("Rss:")
	t.Logf("anonymous %d KiB, resident %d KiB", anonymous, resident)
	assert.LessOrEqual(t, anonymous, 8<<10)
	assert.LessOrEqual(t, resident, 16<<10)

	before := p.ticks()
	<-time.After(2 * time.Second)
	assert.LessOrEqual(t, p.ticks()-before, 1, "hundredths of a second of processor time in 2 s of idleness")
}

// memory returns a line of the kernel's account of the agent, in KiB.
func (p *pod) memory(line string) int {
	p.t.Helper()
	rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", p.cmd.Process.Pid))
	require.NoError(p.t, err)
	_, rest, _ := strings.Cut(string(rollup), "\n"+line)
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(p.t, err)
	return n
}

// ticks returns the processor time used so far.
func (p *pod) ticks() int {
	p.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	require.NoError(p.t, err)
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	user, err := strconv.Atoi(fields[11])
	require.NoError(p.t, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(p.t, err)
	return user + system
}

func TestMetricsAndHealth(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	controller.Say(database(1, "db.tengu.io"))
	p := newPod(t, controller.Address(), authority.PEM())
	address := "127.0.0.1:" + freePort(t)
	p.env = append(p.env, "ORCON_METRICS_ADDRESS="+address)
	p.start()
	require.NoError(t, <-p.wait())
	p.eventually("the agent serves metrics", func() bool {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	metrics := get(t, "http://"+address+"/metrics")
	assert.Contains(t, metrics, "\norcon_agent_gate_open 1\n")
	assert.Contains(t, metrics, "\norcon_agent_connected 1\n")
	assert.Contains(t, metrics, "\norcon_agent_relations 1\n")
	assert.Equal(t, "ok\n", get(t, "http://"+address+"/healthz"))
}

func freePort(t *testing.T) string {
	t.Helper()
	c := streamtest.Start(t, streamtest.NewAuthority(t))
	c.Stop()
	return c.Address()[strings.LastIndex(c.Address(), ":")+1:]
}

func get(t *testing.T, url string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	var body bytes.Buffer
	_, err = body.ReadFrom(response.Body)
	require.NoError(t, err)
	return body.String()
}

func TestTheCommandLine(t *testing.T) {
	tests := map[string]struct {
		why  string
		args []string
		want string
		code int
	}{
		"Version":    {why: "one line for scripts", args: []string{"version"}, want: "v1.2.3\n"},
		"Help":       {why: "examples are what people read", args: []string{"--help"}, want: "kubectl exec POD"},
		"HelpWord":   {why: "as they also write it", args: []string{"help"}, want: "kubectl exec POD"},
		"Unknown":    {why: "a typo must not start a second agent", args: []string{"statsu"}, want: "the commands are once, wait, started, installed, gate, canary, handle, run, status, tool and version", code: 1},
		"RunNothing": {why: "what should run?", args: []string{"run"}, want: "relation-agent run COMMAND", code: 1},
		"NoFolder":   {why: "which handlers?", args: []string{"handle"}, want: "relation-agent handle FOLDER", code: 1},
		"NoHandlers": {why: "a mistyped folder would handle nothing, and say nothing", args: []string{"handle", "/nonexistent"}, want: "check that tengu.io/handlers names a folder", code: 1},
		"Canary":     {why: "TRUST.md A5: a kubelet that leaves variables empty starts no container", args: []string{"canary"}, want: "EnvFiles: the kubelet of this node", code: 1},
		"GateCanary": {why: "TRUST.md A5: nor handlers", args: []string{"gate", "canary"}, want: "EnvFiles: the kubelet of this node", code: 1},
		"StatusDead": {why: "status of no agent says so", args: []string{"-root", "/nonexistent", "status"}, want: "cannot reach the agent", code: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(binary, test.args...)
			out, _ := cmd.CombinedOutput()
			assert.Contains(t, string(out), test.want, test.why)
			assert.Equal(t, test.code, cmd.ProcessState.ExitCode(), test.why)
		})
	}
}
