package serve

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// neighbours returns the view of blog on a database with so many units. Their bags, and blog's own, are as large as a bag
// may be.
func neighbours(units int, value string) relation.View {
	view := blog(value)
	contents := domain.BagMap{}
	seen := &view.Relations[0]
	seen.Shown.RemoteBag = contents.Put(largest(value))
	for n := range units {
		unit := domain.Unit{Application: "db", Number: n}
		seen.Shown.Units = append(seen.Shown.Units, domain.Member{Unit: unit, Bag: contents.Put(largest(unit.String()))})
	}
	seen.Own = []domain.Member{{Unit: domain.Unit{Application: "blog", Number: 4}, Bag: contents.Put(domain.Bag{"a": "b"})}}
	view.Units, view.Bags = []application.Unit{{Number: 4, PodUID: "uid-blog-1"}}, contents
	return view
}

// largest returns a bag as large as one may be, of as many keys as it may have.
func largest(text string) domain.Bag {
	const many = databag.MaxKeys - 1
	bag := domain.Bag{"host": text}
	value := text + strings.Repeat("v", (databag.MaxBag-len("host")-len(text))/many-len("k0000")-len(text))
	for i := range many {
		bag[fmt.Sprintf("k%04d", i)] = value
	}
	return bag
}

// realAgent is the agent's program beside a pod.
type realAgent struct {
	t    *testing.T
	root string
	cmd  *exec.Cmd
	mu   sync.Mutex
	log  bytes.Buffer
}

func (a *realAgent) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.Write(p)
}

func (a *realAgent) said() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.String()
}

// startAgent builds the agent's program as it is shipped and runs it until the test ends. It posts the unit's events to a
// port of this machine.
func startAgent(t *testing.T, r *replica, events string) *realAgent {
	t.Helper()
	root, err := os.MkdirTemp("", "pod") //nolint:usetesting // a socket's path has at most 108 bytes
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	binary := filepath.Join(root, "relation-agent")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "../../cmd/relation-agent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, dir := range []string{"bindings", "run", "state", "identity"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "identity", "token"), []byte("token-blog-1"), 0o600))
	server := serveTLS(t, r)
	trust := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	a := &realAgent{t: t, root: root, cmd: exec.CommandContext(t.Context(), binary, "-root", root)}
	a.cmd.Stderr = a
	a.cmd.Env = []string{
		"POD_NAME=blog-1", "POD_NAMESPACE=shop", "ORCON_ADDRESS=" + server.URL, "ORCON_SERVER_NAME=example.com",
		"ORCON_TRUST=" + string(trust), "ORCON_CONSUMES=db", "ORCON_TOOLS=main",
		"ORCON_ON_CHANGE=http://127.0.0.1:" + events + "/",
	}
	require.NoError(t, a.cmd.Start())
	t.Cleanup(func() {
		_ = a.cmd.Process.Kill()
		_ = a.cmd.Wait()
	})
	return a
}

// eventually waits until what is expected of the agent is so.
func (a *realAgent) eventually(is func() bool) {
	a.t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); <-time.After(10 * time.Millisecond) {
		require.True(a.t, time.Now().Before(deadline), a.said())
	}
}

// memory returns a field of the program's status, in KiB.
func (a *realAgent) memory(field string) int {
	a.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))
	require.NoError(a.t, err)
	_, rest, _ := strings.Cut(string(text), "\n"+field+":")
	kibibytes, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(a.t, err)
	return kibibytes
}

// tool runs a tool in the pod, and returns what that prints: nothing if it fails, and then the log has the reason.
func (a *realAgent) tool(args ...string) string {
	cmd := exec.CommandContext(a.t.Context(), a.cmd.Path, append([]string{"-root", a.root, "tool"}, args...)...)
	cmd.Stderr = a
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out))
}

// follower stores that no unit leads, and reports.
type follower struct {
	Store
	Statuses
}

// Lead implements Store.
func (follower) Lead(context.Context, string, string, int, string, bool) (leadership.Leader, error) {
	return leadership.Leader{}, nil
}

// Report implements Statuses.
func (follower) Report(context.Context, status.Reporter, status.Failure) error { return nil }

// TRUST.md U2: 64 units with bags as large as bags may be reach an agent and its handlers. It never has more memory than
// its limit.
func TestAnAgentsMemoryDoesNotGrowWithItsNeighbours(t *testing.T) {
	r := readyReplica()
	r.server.Store, r.server.Statuses, r.server.Now = follower{}, follower{}, time.Now
	r.set(func() { r.views["blog"] = neighbours(64, "one") })
	var posted atomic.Int64
	handlers := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { posted.Add(1) }))
	t.Cleanup(handlers.Close)
	_, port, err := net.SplitHostPort(handlers.Listener.Addr().String())
	require.NoError(t, err)
	a := startAgent(t, r, port)
	host := func() string {
		text, _ := os.ReadFile(filepath.Join(a.root, "bindings", "db", "host"))
		return string(text)
	}
	a.eventually(func() bool { return host() == "one" })
	a.eventually(func() bool { return a.tool("relation-ids", "db") == "db:1" }) // tools know a snapshot after its files
	for n := range 64 {
		require.Equal(t, fmt.Sprint("db/", n), a.tool("relation-get", "-r", "db:1", "host", fmt.Sprint("db/", n)), a.said())
	}
	a.eventually(func() bool { return posted.Load() >= 2+2*64 })
	r.set(func() {
		r.views["blog"] = neighbours(64, "two")
		r.heard["databags"], r.caughtUp["databags"] = 11, 11
	})
	a.eventually(func() bool { return host() == "two" && posted.Load() > 2+2*64 })
	t.Logf("resident %d KiB, at most %d KiB, anonymous %d KiB", a.memory("VmRSS"), a.memory("VmHWM"), a.memory("RssAnon"))
	assert.LessOrEqual(t, a.memory("VmHWM"), 16<<10, "SAFETY.md I20: the most resident memory, in KiB")
}

// received reads a stream until the next snapshot, and returns it with the versions of the databags that came before it.
func received(t *testing.T, s *stream) (versions []string, snapshot *v1alpha1.Snapshot) {
	t.Helper()
	for {
		message, err := s.Receive()
		require.NoError(t, err)
		if snapshot = message.GetSnapshot(); snapshot != nil {
			return versions, snapshot
		}
		assert.LessOrEqual(t, proto.Size(message), 65<<10, "a piece is small")
		if version := message.GetPiece().GetVersion(); version != "" {
			versions = append(versions, version)
		}
	}
}

// TRUST.md U2: an agent that accepts pieces receives each databag once, before the snapshot that refers to it, and after a
// change no other.
func TestPiecesOfAChange(t *testing.T) {
	r := readyReplica()
	r.set(func() { r.views["blog"] = neighbours(3, "one") })
	s := dial(t, serveTLS(t, r))
	greeting := &v1alpha1.Hello{Token: "token-blog-1", Pieces: true}
	require.NoError(t, s.Send(&v1alpha1.ConverseRequest{Message: &v1alpha1.ConverseRequest_Hello{Hello: greeting}}))
	versions, first := received(t, s)
	assert.Len(t, versions, 5, "the database's bag, those of its units, and the unit's own")
	for _, bag := range convert.Databags(first) {
		assert.Empty(t, bag.GetData())
		assert.True(t, convert.RefTo(bag).Empty() || slices.Contains(versions, bag.GetVersion()))
	}

	r.set(func() {
		r.views["blog"] = neighbours(3, "two")
		r.heard["databags"], r.caughtUp["databags"] = 11, 11
	})
	versions, second := received(t, s)
	assert.Equal(t, []string{databag.Version(largest("two"))}, versions)
	assert.Equal(t, versions[0], second.GetRelations()[0].GetBag().GetVersion())
}

// outdated hands on which pods have an agent that is reported as outdated.
type outdated struct {
	Statuses
	pods chan string
}

func (o outdated) ReportOutdated(_ context.Context, by status.Reporter) error {
	o.pods <- by.Namespace + "/" + by.Application + "/" + by.PodUID
	return nil
}

// TRUST.md U2, A6: an older agent receives one message, or the reason why it cannot, which is reported to people.
func TestAnOlderAgentReceivesOneMessage(t *testing.T) {
	r := readyReplica()
	reported := outdated{pods: make(chan string, 8)}
	r.server.Statuses = reported
	r.set(func() { r.views["blog"] = neighbours(3, "one") })
	s := dial(t, serveTLS(t, r))
	hello(t, s, "token-blog-1", nil)
	versions, snapshot := received(t, s)
	assert.Empty(t, versions)
	assert.Equal(t, largest("one"), snapshot.GetRelations()[0].GetBag().GetData())
	assert.Equal(t, largest("db/2"), snapshot.GetRelations()[0].GetUnits()[2].GetBag().GetData())

	r.set(func() { r.views["blog"] = neighbours(40, "one") })
	_, err := s.Receive()
	assert.Equal(t, connect.CodeFailedPrecondition, connect.CodeOf(err))
	require.ErrorContains(t, err, "more than the 16777216 that its agent accepts: replace the pod, so that it gets a newer agent")
	require.Len(t, reported.pods, 1, "not for the message that it has received")
	assert.Equal(t, "shop/blog/uid-blog-1", <-reported.pods)
}
