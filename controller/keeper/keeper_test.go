package keeper_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// only returns the one end of a run.
func only(t *testing.T, m *model) keeper.End {
	require.Len(t, m.ends, 1)
	return m.ends[0]
}

// JOBS.md J4 and J9: state is captured however the template ends, and the container has its exit code.
func TestEnds(t *testing.T) {
	tests := map[string]struct {
		why     string
		script  string
		code    int
		outcome job.Outcome
		killed  bool
	}{
		"Success":   {why: "a new generation", script: `echo b > $STATE/b`, outcome: job.Committed},
		"Failure":   {why: "state is captured on failure too", script: `echo b > $STATE/b; exit 3`, code: 3, outcome: job.Committed},
		"Signal":    {why: "as a shell reports it", script: `echo b > $STATE/b; kill -9 $$`, code: 137, outcome: job.Committed, killed: true},
		"Unchanged": {why: "no new generation", script: `test "$(cat $STATE/a)" = old`, outcome: job.Unchanged},
		"Documents": {why: "parameters and outputs are no state", script: `test "$(cat $STATE/template-parameters.json)" = '{"p":1}' && ` +
			`test $FOO = bar && echo '{"o": 1}' > $STATE/outputs.json`, outcome: job.Unchanged},
		"Emptied": {why: "an empty state is a state", script: `rm $STATE/a`, outcome: job.Committed},
		"Refused": {why: "what cannot be restored", script: `mkfifo $STATE/pipe`, outcome: job.Failed},
		"Large":   {why: "above its limit it is stored, as an orphan", script: `head -c 2000000 /dev/zero > $STATE/f`, outcome: job.Orphaned},
		"Huge":    {why: "above eight times its limit it is not", script: `head -c 9000000 /dev/zero > $STATE/f`, outcome: job.Failed},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			b := newBench(t, tc.script)
			store := b.store(t)
			m := &model{next: hold()}
			m.next.Base, m.next.Generation = seed(t, store, "a", "old"), 7
			m.next.Parameters, m.next.Environment = `{"p":1}`, []string{"FOO=bar"}
			m.fence = 1
			code, err := b.run(t, m, store, nil)
			require.NoError(t, err, tc.why)
			assert.Equal(t, tc.code, code, tc.why)
			e := only(t, m)
			require.Equal(t, tc.outcome, e.Outcome, e.Message)
			assert.Equal(t, exchange.Ended{Code: tc.code, Ran: true, Killed: tc.killed}, e.Process, tc.why)
			assert.Equal(t, tc.outcome == job.Committed || tc.outcome == job.Orphaned, e.State != nil, tc.why)
			assert.Equal(t, tc.outcome == job.Committed || tc.outcome == job.Unchanged, e.Message == "", e.Message)
			if label == "Documents" {
				assert.JSONEq(t, `{"o": 1}`, e.Outputs)
			}
			if tc.outcome == job.Committed && label != "Emptied" {
				folder := restored(t, store, *e.State)
				content, err := os.ReadFile(filepath.Join(folder, "b"))
				require.NoError(t, err)
				assert.Equal(t, "b\n", string(content))
			}
			if label == "Emptied" {
				entries, err := os.ReadDir(restored(t, store, *e.State))
				require.NoError(t, err)
				assert.Empty(t, entries, tc.why)
			}
		})
	}
}

// JOBS.md J15: what cannot be started ends with a code of the runner, and changes no state.
func TestNeverStarted(t *testing.T) {
	b := newBench(t, "")
	store := b.store(t)
	m := &model{next: hold()}
	m.next.Base = &keeper.State{Digest: "sha256:x", Size: 1 << 10}
	m.next.Base.Blob.Workspace, m.next.Base.Blob.Fence, m.next.Base.Blob.Name = "w", 1, "gone"
	code, err := b.run(t, m, store, nil)
	require.ErrorContains(t, err, "there is no such blob")
	assert.Equal(t, contract.Refused, code)
	e := only(t, m)
	assert.Equal(t, job.None, e.Outcome)
	assert.False(t, e.Process.Ran)
	assert.Contains(t, e.Message, "no such blob")
}

// JOBS-DESIGN.md 3: any other claimant starts nothing.
func TestClaimedByAnother(t *testing.T) {
	b := newBench(t, `touch $BASE/ran`)
	m := &model{next: hold()}
	m.steal()
	code, err := b.run(t, m, b.store(t), nil)
	require.ErrorIs(t, err, keeper.ErrConflict)
	assert.Equal(t, contract.Refused, code)
	assert.False(t, b.there("ran"))
	assert.Empty(t, m.ends)
}

// JOBS.md J8 and J9: calls whose answers are lost are repeated, and have one effect.
func TestLostAnswers(t *testing.T) {
	b := newBench(t, `echo x > $STATE/x`)
	m := &model{next: hold(), fail: 3}
	code, err := b.run(t, m, b.store(t), func(*child, func()) {
		until(t, "it started", func() bool { return b.there("exchange/started") })
		look(m, func() bool { m.fail = 3; return true })
	})
	require.NoError(t, err)
	assert.Equal(t, 0, code)
	assert.Equal(t, job.Committed, only(t, m).Outcome)
}

// JOBS.md J7: a cancel is SIGTERM to the process group, then SIGKILL after the grace; the state is committed.
func TestCancel(t *testing.T) {
	const patient = `trap 'echo term > $STATE/end; exit 9' TERM; touch $BASE/ready; while :; do sleep 0.05; done`
	const deaf = `trap '' TERM; sh -c 'trap "" TERM; while :; do sleep 0.05; done' & echo x > $STATE/end; touch $BASE/ready; while :; do sleep 0.05; done`
	tests := map[string]struct {
		why, script string
		grace       time.Duration
		stop        func(m *model, shim *child, terminate func())
		code        int
		killed      bool
	}{
		"Cancel": {why: "by the ledger", script: patient, grace: time.Minute, code: 9, stop: func(m *model, _ *child, _ func()) {
			look(m, func() bool { m.cancelled = true; return true })
		}},
		"Deaf": {why: "SIGKILL after the grace, also to children", script: deaf, grace: 100 * time.Millisecond, code: 137, killed: true,
			stop: func(m *model, _ *child, _ func()) { look(m, func() bool { m.cancelled = true; return true }) }},
		"Planted": {why: "the template cannot give itself more time", script: `echo '{"grace":3600000000000}' >$BASE/exchange/stop; ` + deaf,
			grace: 100 * time.Millisecond, code: 137, killed: true,
			stop: func(m *model, _ *child, _ func()) { look(m, func() bool { m.cancelled = true; return true }) }},
		"Container": {why: "the container is stopped", script: patient, grace: time.Minute, code: 9, stop: func(_ *model, s *child, _ func()) {
			_ = s.Process.Signal(syscall.SIGTERM)
		}},
		"Keeper": {why: "the keeper is stopped", script: patient, grace: time.Minute, code: 9, stop: func(_ *model, _ *child, terminate func()) {
			terminate()
		}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			b := newBench(t, tc.script)
			m := &model{next: hold()}
			m.next.Grace = tc.grace
			store := b.store(t)
			code, err := b.run(t, m, store, func(s *child, terminate func()) {
				until(t, "it is ready", func() bool { return b.there("ready") })
				tc.stop(m, s, terminate)
			})
			require.NoError(t, err, tc.why)
			assert.Equal(t, tc.code, code, tc.why)
			e := only(t, m)
			assert.Equal(t, job.Committed, e.Outcome, tc.why)
			assert.Equal(t, tc.killed, e.Process.Killed, tc.why)
			_, err = os.Stat(filepath.Join(restored(t, store, *e.State), "end"))
			assert.NoError(t, err, tc.why)
		})
	}
}

// JOBS-DESIGN.md 4: without acknowledged renewals an exclusive run goes on, and another one is stopped.
func TestLost(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		b := newBench(t, `trap 'exit 9' TERM; touch $BASE/ready; while ! test -e $BASE/go; do sleep 0.05; done; echo x > $STATE/x`)
		m := &model{next: hold()}
		m.next.Exclusive, m.next.Lost = exclusive, time.Second
		code, err := b.run(t, m, b.store(t), func(*child, func()) {
			until(t, "it is ready", func() bool { return b.there("ready") })
			silent := time.Now()
			look(m, func() bool { m.mute = true; return true })
			if exclusive {
				until(t, "twice the time passed", func() bool { return time.Since(silent) > 2*m.next.Lost })
				assert.False(t, b.there("exchange/stop"), "nobody takes it over because time passed")
				require.NoError(t, os.WriteFile(b.path("go"), nil, 0o600))
				return
			}
			until(t, "it is stopped", func() bool { return b.there("exchange/stop") })
			assert.Greater(t, time.Since(silent), m.next.Lost-2*b.Renew, "not before")
		})
		require.NoError(t, err)
		assert.Equal(t, map[bool]int{true: 0, false: 9}[exclusive], code)
		assert.Equal(t, map[bool]job.Outcome{true: job.Committed, false: job.Unchanged}[exclusive], only(t, m).Outcome)
	}
}

// JOBS.md J6 and J10: a holder counts from when it first sent its claim. One whose claim is answered too late starts
// nothing, though it can renew.
func TestClaimedTooLate(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		b := newBench(t, `touch $BASE/ran`)
		m := &model{next: hold(), fail: 30}
		m.next.Exclusive, m.next.Lost = exclusive, 200*time.Millisecond
		_, err := b.run(t, m, b.store(t), nil)
		assert.Equal(t, exclusive, b.there("ran"))
		if exclusive {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "no renewal was acknowledged")
		assert.Equal(t, job.None, only(t, m).Outcome)
	}
}

// JOBS.md J6: a keeper that is started again counts from the last renewal that was acknowledged before.
func TestStartedAgainTooLate(t *testing.T) {
	b := newBench(t, `trap 'exit 9' TERM; touch $BASE/ready; while :; do sleep 0.05; done`)
	m := &model{next: hold()}
	m.next.Exclusive, m.next.Lost = false, 2*time.Second
	b.Ledger = serve(t, m)
	k := b.start(t, keeperPart)
	s := b.start(t, shimPart)
	until(t, "it is ready", func() bool { return b.there("ready") })
	require.NoError(t, k.Process.Kill())
	<-k.ended
	killed := time.Now()
	until(t, "it counts as lost", func() bool { return time.Since(killed) > m.next.Lost })
	require.Zero(t, b.start(t, keeperPart).code(t))
	assert.Equal(t, 9, s.code(t))
	assert.Contains(t, b.read(t, "exchange/stop"), "no renewal was acknowledged")
}

// JOBS.md J9, JOBS-DESIGN.md 5: a stale fence commits nothing; its container is stopped, and its archive is stored.
func TestStale(t *testing.T) {
	b := newBench(t, `trap 'exit 9' TERM; echo x > $STATE/x; touch $BASE/ready; while :; do sleep 0.05; done`)
	m := &model{next: hold()}
	store := b.store(t)
	code, err := b.run(t, m, store, func(*child, func()) {
		until(t, "it is ready", func() bool { return b.there("ready") })
		m.steal()
	})
	require.ErrorIs(t, err, keeper.ErrStale)
	assert.Equal(t, 9, code)
	assert.Empty(t, m.ends)
	require.Len(t, m.late, 1)
	_, err = os.Stat(filepath.Join(restored(t, store, *m.late[0].State), "x"))
	require.NoError(t, err)
}

// JOBS.md J12, JOBS-DESIGN.md 7: checkpoints are stored while the template runs, each change once.
func TestCheckpoints(t *testing.T) {
	b := newBench(t, `for i in 1 2 3; do echo $i > $STATE/new; mv $STATE/new $STATE/x; while ! test -e $BASE/go$i; do sleep 0.02; done; done`)
	b.Checkpoint = 20 * time.Millisecond
	m := &model{next: hold()}
	store := b.store(t)
	_, err := b.run(t, m, store, func(*child, func()) {
		for i, name := range []string{"go1", "go2", "go3"} {
			until(t, "a checkpoint", func() bool {
				return look(m, func() bool {
					n := len(m.checkpoints)
					return n > i && !m.checkpoints[n-1].Torn
				})
			})
			ticks := look(m, func() int { return m.renewals })
			until(t, "some time passed", func() bool { return look(m, func() bool { return m.renewals > ticks+2 }) })
			require.NoError(t, os.WriteFile(b.path(name), nil, 0o600))
		}
	})
	require.NoError(t, err)
	consistent := map[string]int{}
	last := int64(0)
	for _, c := range m.checkpoints {
		assert.Greater(t, c.Sequence, last)
		last = c.Sequence
		if !c.Torn {
			consistent[c.State.Digest]++
		}
		restored(t, store, c.State)
	}
	assert.GreaterOrEqual(t, len(consistent), 3)
	for digest, n := range consistent {
		assert.Equal(t, 1, n, digest)
	}
	assert.Equal(t, m.checkpoints[len(m.checkpoints)-1].State.Digest, only(t, m).State.Digest)
}

// JOBS-DESIGN.md 10: the limit of the state is a cancel.
func TestTooLargeIsStopped(t *testing.T) {
	b := newBench(t, `trap 'exit 9' TERM; head -c 2000000 /dev/zero > $STATE/f; while :; do sleep 0.05; done`)
	b.Checkpoint = 20 * time.Millisecond
	m := &model{next: hold()}
	code, err := b.run(t, m, b.store(t), nil)
	require.NoError(t, err)
	assert.Equal(t, 9, code)
	e := only(t, m)
	assert.Equal(t, job.Orphaned, e.Outcome)
	assert.Contains(t, e.Message, "remove or exclude files, or raise spec.state.maxSize of the JobWorkspace")
}
