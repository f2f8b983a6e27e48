package agent

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/bindings"
)

// processes are containers that count their signals.
type processes struct {
	running int
	err     error
	got     []string
}

func (p *processes) Signal(name string) (int, error) {
	p.got = append(p.got, name)
	return p.running, p.err
}

// signalled is a pod whose containers want a signal.
type signalled struct {
	t *testing.T
	*processes
	dir   string
	agent *Agent
}

func newSignalled(t *testing.T) *signalled {
	s := &signalled{t: t, processes: &processes{running: 1}, dir: t.TempDir()}
	s.restart()
	return s
}

// restart is what a kubelet does with the agent's container.
func (s *signalled) restart() {
	wanted := settings(s.t, "store:pg", "")
	wanted.OnChange.Signal = "HUP"
	disk := newVolumes(s.t, s.dir).disk()
	disk.Signalled = bindings.NewPair(s.dir + "/state/signalled")
	s.agent = New(wanted, disk, nil, s.processes)
	s.agent.Start()
}

func (s *signalled) hears(revision uint64, host string) {
	snapshot := heardAt(revision)
	snapshot.Relations[0].Bag.Data["host"], snapshot.Relations[0].Complete = host, true
	hear(s.agent, snapshot)
}

// Containers get one signal for a change of their files, and none for what they
// found when they started, or what is nothing new (SAFETY.md I24).
func TestSignals(t *testing.T) {
	s := newSignalled(t)
	s.hears(1, "a")
	assert.Empty(t, s.got, "the gate has opened with it")
	s.hears(2, "a")
	assert.Empty(t, s.got, "nothing is new")
	s.hears(3, "b")
	assert.Equal(t, []string{"HUP"}, s.got)
	assert.Equal(t, "b", volumes(s.dir).tree(t)["store"]["host"])
	assert.Regexp(t, `^HUP, sent to 1 containers at .*, which is all that ran$`, s.agent.signals.status())

	t.Log("over a restart of the agent")
	s.restart()
	s.hears(4, "b")
	assert.Len(t, s.got, 1, "it was told of that")
	s.restart()
	s.hears(5, "c")
	assert.Len(t, s.got, 2, "and not of that")

	t.Log("who does not run reads it when it starts")
	s.running = 0
	s.hears(6, "d")
	s.running = 1
	s.hears(7, "d")
	assert.Len(t, s.got, 3)
	assert.Contains(t, s.agent.signals.status(), "sent to 0 containers")
}

// A signal that cannot be sent is tried again after a pause, and both is told where
// the handlers' failures are.
func TestSignalsThatFail(t *testing.T) {
	s := newSignalled(t)
	s.hears(1, "a")
	s.running, s.err = 0, errors.New("not permitted")
	s.hears(2, "b")
	assert.Regexp(t, `^HUP failed, attempt 1, next attempt at .*: not permitted$`, s.agent.signals.status())
	var out stringWriter
	require.NoError(t, s.agent.WriteStatus(&out))
	assert.Contains(t, string(out), "HUP failed, attempt 1")

	s.agent.signals.mu.Lock()
	s.running, s.err = 1, nil
	s.agent.signals.mu.Unlock()
	require.Eventually(t, func() bool {
		s.agent.signals.mu.Lock()
		defer s.agent.signals.mu.Unlock()
		return s.agent.signals.told == s.agent.signals.wanted
	}, 10*time.Second, time.Millisecond)
	assert.Len(t, s.got, 2)

	t.Log("of several, one that cannot be reached does not keep the others from peace")
	s.err = errors.New("not permitted")
	s.hears(3, "c")
	s.hears(4, "c")
	assert.Len(t, s.got, 3)
	assert.Regexp(t, `sent to 1 containers at .*, not permitted$`, s.agent.signals.status())
}

// stringWriter collects text.
type stringWriter string

func (w *stringWriter) Write(p []byte) (int, error) {
	*w += stringWriter(p)
	return len(p), nil
}
