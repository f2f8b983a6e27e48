package bench

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// repository is the top of the checkout.
func repository(b *testing.B) string {
	b.Helper()
	root, err := controlplane.Root()
	require.NoError(b, err)
	return root
}

// process is a program that runs until the benchmark ends.
type process struct {
	command *exec.Cmd
	log     string
	ended   chan struct{}
	// health is where one of Orcon's servers tells of itself.
	health string
}

// start runs a program, with env besides the benchmark's own environment, until
// the benchmark ends. It also ends when the benchmark is killed.
func start(b *testing.B, env []string, program string, arguments ...string) *process {
	b.Helper()
	log, err := os.Create(filepath.Join(b.TempDir(), filepath.Base(program)+".log"))
	require.NoError(b, err)
	defer func() { _ = log.Close() }()
	p := &process{command: exec.Command(program, arguments...), log: log.Name(), ended: make(chan struct{})}
	p.command.Env, p.command.Stdout, p.command.Stderr = append(os.Environ(), env...), log, log
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(b, p.command.Start(), "cannot start %s", program)
	go func() {
		_ = p.command.Wait()
		close(p.ended)
	}()
	b.Cleanup(func() { p.stop(b) })
	return p
}

// stop ends the process, and shows what it said if the benchmark has failed.
func (p *process) stop(b *testing.B) {
	b.Helper()
	_ = p.command.Process.Signal(syscall.SIGTERM)
	if !within(patience, p.ended) {
		b.Errorf("%s did not end within %s of SIGTERM and was killed", p.command, patience)
		_ = p.command.Process.Kill()
		<-p.ended
	}
	if b.Failed() {
		b.Logf("%s:\n%s", p.command, p.said())
	}
}

// said is what the process has written until now.
func (p *process) said() string {
	text, _ := os.ReadFile(p.log)
	return string(text)
}

// memory returns a field of the process' status in MiB: VmRSS, RssAnon, VmHWM
// for the most it ever had.
func (p *process) memory(b *testing.B, field string) float64 {
	b.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.command.Process.Pid), "status"))
	require.NoError(b, err, "%s is gone:\n%s", p.command, p.said())
	found := regexp.MustCompile(field + `:\s*(\d+) kB`).FindSubmatch(text)
	require.NotNil(b, found, "no %s in the status of %s", field, p.command)
	kibibytes, err := strconv.Atoi(string(found[1]))
	require.NoError(b, err)
	return float64(kibibytes) / 1024
}

// metric returns what one of Orcon's servers counts under a name, over all labels.
func (p *process) metric(b *testing.B, name string) (sum float64) {
	b.Helper()
	response, err := http.Get(p.health + "/metrics")
	require.NoError(b, err)
	defer func() { _ = response.Body.Close() }()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		sample, value, _ := strings.Cut(lines.Text(), " ")
		if counter, _, _ := strings.Cut(sample, "{"); counter != name {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		require.NoError(b, err)
		sum += n
	}
	return sum
}

// freePort returns a port of 127.0.0.1 that nobody listened on just now.
func freePort(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(b, err)
	return port
}
