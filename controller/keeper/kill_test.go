package keeper_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// steps counts its starts outside of the state, and its steps within.
const steps = `echo start >> $BASE/starts
i=0; while test $i -lt 20; do i=$((i+1)); echo $i >> $STATE/steps; sleep 0.01; done; echo done > $STATE/done; exit 5`

// victim says what is killed, when a condition is met.
type victim struct {
	shim, keeper bool
	when         func(b bench) bool
}

// JOBS.md J3, J4 and J9: whatever is killed, and whenever, the template is started once at most, the run ends once, and
// what it has written until then is what is stored.
func TestKills(t *testing.T) {
	file := func(name string) func(bench) bool {
		return func(b bench) bool { return b.there(name) }
	}
	phases := map[string]func(bench) bool{
		"Claimed": file("scratch/hold.json"), "Restored": file("exchange/start"), "Started": file("exchange/started"),
		"Running": file("state/steps"), "Done": file("state/done"), "Ended": file("exchange/ended"),
		"Stored": func(b bench) bool {
			found, _ := filepath.Glob(b.path("blobs/w/*1/*"))
			return len(found) > 0
		},
	}
	for label, when := range phases {
		for what, v := range map[string]victim{
			"Shim": {shim: true, when: when}, "Keeper": {keeper: true, when: when}, "Both": {shim: true, keeper: true, when: when},
		} {
			t.Run(label+what, func(t *testing.T) { killed(t, v) })
		}
	}
	for i := range 12 {
		after := rand.N(600 * time.Millisecond)
		v := victim{shim: i%3 != 0, keeper: i%3 != 1}
		t.Run(fmt.Sprint("After", after.Milliseconds()), func(t *testing.T) {
			started := time.Now()
			v.when = func(bench) bool { return time.Since(started) > after }
			killed(t, v)
		})
	}
}

// killed runs a template, kills, starts the keeper again as a kubelet would, and checks what is left.
func killed(t *testing.T, v victim) {
	b := newBench(t, steps)
	b.Checkpoint = 30 * time.Millisecond
	m := &model{next: hold()}
	b.Ledger = serve(t, m)
	k := b.start(t, keeperPart)
	s := b.start(t, shimPart)
	until(t, "the moment to kill", func() bool {
		select {
		case <-k.ended:
			return true
		default:
			return v.when(b)
		}
	})
	if v.shim {
		_ = s.Process.Kill()
		<-s.ended
	}
	if v.keeper {
		_ = k.Process.Kill()
		<-k.ended
	}
	if v.keeper {
		k = b.start(t, keeperPart)
	}
	if !b.there("exchange/started") && v.shim {
		until(t, "the keeper is there", func() bool { return b.there(fmt.Sprint("ready-", k.Process.Pid)) })
		_ = k.Process.Signal(syscall.SIGTERM) // as the kubelet does when no other container is left
	}
	require.Zero(t, k.code(t))
	check(t, b, m)
	if !v.shim {
		assert.Equal(t, 5, s.code(t))
		return
	}
	s = b.start(t, shimPart)
	code := s.code(t)
	assert.Contains(t, []int{5, contract.Vanished, contract.Refused}, code, "a shim that is started again starts nothing")
	assert.LessOrEqual(t, starts(t, b), 1)
}

// JOBS.md J9, JOBS-DESIGN.md 5: a keeper that comes back when another run holds the workspace stops the template, and
// stores what it left as an orphan.
func TestComesBackStale(t *testing.T) {
	b := newBench(t, `trap 'exit 9' TERM; echo x > $STATE/x; touch $BASE/ready; while :; do sleep 0.05; done`)
	m := &model{next: hold()}
	b.Ledger = serve(t, m)
	k := b.start(t, keeperPart)
	s := b.start(t, shimPart)
	until(t, "it is ready", func() bool { return b.there("ready") })
	require.NoError(t, k.Process.Kill())
	<-k.ended
	m.steal()
	assert.Equal(t, 1, b.start(t, keeperPart).code(t))
	assert.Equal(t, 9, s.code(t))
	assert.Empty(t, m.ends)
	require.Len(t, m.late, 1)
	_, err := os.Stat(filepath.Join(restored(t, b.store(t), *m.late[0].State), "x"))
	require.NoError(t, err)
}

// check compares what is recorded with what the template did.
func check(t *testing.T, b bench, m *model) {
	e := only(t, m)
	assert.Empty(t, m.late)
	n := starts(t, b)
	assert.LessOrEqual(t, n, 1, "once at most")
	store, err := directory.Open(b.path("blobs"))
	require.NoError(t, err)
	defer store.Close()
	switch e.Outcome {
	case job.None:
		assert.Zero(t, n)
	case job.Unchanged:
		assert.False(t, b.there("state/steps"))
	case job.Committed:
		folder := restored(t, store, *e.State)
		for _, name := range []string{"steps", "done"} {
			want, wanted := os.ReadFile(filepath.Join(b.path("state"), name))
			got, err := os.ReadFile(filepath.Join(folder, name))
			assert.Equal(t, string(want), string(got), "all that was written is stored")
			assert.Equal(t, wanted == nil, err == nil, name)
		}
	default:
		assert.Fail(t, "an outcome that holds the workspace", e)
	}
	for _, c := range m.checkpoints {
		restored(t, store, c.State)
	}
}

func starts(t *testing.T, b bench) int {
	if !b.there("starts") {
		return 0
	}
	return strings.Count(b.read(t, "starts"), "start\n")
}
