package keeper_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang/glog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/chunk"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// sink joins chunks by stream.
type sink struct {
	mutex sync.Mutex
	text  map[string]string
	ended map[string]bool
	down  bool
	slow  time.Duration
	calls []time.Time
}

func (s *sink) Write(_ context.Context, c chunk.Chunk) error {
	<-time.After(s.slow)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.calls = append(s.calls, time.Now())
	if s.down {
		return errors.New("the sink is down")
	}
	s.text[c.Stream] += string(c.Content)
	if c.Last {
		s.ended[c.Stream] = true
	}
	return nil
}

func (s *sink) read(stream string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text[stream]
}

// JOBS.md J11: output is carried away while the template runs, and all of it before the run ends.
func TestOutput(t *testing.T) {
	b := newBench(t, `echo first; while ! test -e $BASE/go; do sleep 0.02; done; head -c 3000000 /dev/zero | tr '\0' x; echo problem >&2`)
	m := &model{next: hold()}
	out := &sink{text: map[string]string{}, ended: map[string]bool{}}
	b.chunks = out
	_, err := b.run(t, m, b.store(t), func(*child, func()) {
		until(t, "the first line", func() bool { return out.read("stdout") == "first\n" })
		require.NoError(t, os.WriteFile(b.path("go"), nil, 0o600))
	})
	require.NoError(t, err)
	assert.Len(t, out.read("stdout"), len("first\n")+3000000)
	assert.Equal(t, "first\n", strings.TrimRight(out.read("stdout"), "x"))
	assert.Equal(t, "problem\n", out.read("stderr"))
}

// JOBS.md J11: a sink that is down blocks neither the run nor its end.
func TestOutputWithoutSink(t *testing.T) {
	b := newBench(t, `head -c 3000000 /dev/zero; echo x > $STATE/x`)
	m := &model{next: hold()}
	b.chunks, b.Drain = &sink{down: true}, 200*time.Millisecond
	before := glog.Stats.Warning.Lines()
	code, err := b.run(t, m, b.store(t), nil)
	require.NoError(t, err)
	assert.Zero(t, code)
	assert.Equal(t, job.Committed, only(t, m).Outcome)
	assert.Equal(t, int64(1), glog.Stats.Warning.Lines()-before, "it is logged once")
}

// JOBS.md J11: output that goes away slowly comes to its end, though the run has ended long before.
func TestOutputToASlowSink(t *testing.T) {
	b := newBench(t, `head -c 3000000 /dev/zero | tr '\0' x; echo x > $STATE/x`)
	out := &sink{text: map[string]string{}, ended: map[string]bool{}, slow: 300 * time.Millisecond}
	b.chunks, b.Drain = out, 2*time.Second
	_, err := b.run(t, &model{next: hold()}, b.store(t), nil)
	require.NoError(t, err)
	assert.Len(t, out.read("stdout"), 3000000)
}

// A sink that refuses is called less and less often.
func TestOutputBacksOff(t *testing.T) {
	b := newBench(t, `echo x; while ! test -e $BASE/go; do sleep 0.02; done`)
	out := &sink{down: true}
	b.chunks, b.Retry, b.Drain = out, time.Hour, time.Millisecond
	_, err := b.run(t, &model{next: hold()}, b.store(t), func(*child, func()) {
		until(t, "three calls", func() bool {
			out.mutex.Lock()
			defer out.mutex.Unlock()
			return len(out.calls) > 2
		})
		out.mutex.Lock()
		defer out.mutex.Unlock()
		assert.GreaterOrEqual(t, out.calls[1].Sub(out.calls[0]), time.Second)
		assert.GreaterOrEqual(t, out.calls[2].Sub(out.calls[1]), 2*time.Second)
		require.NoError(t, os.WriteFile(b.path("go"), nil, 0o600))
	})
	require.NoError(t, err)
}

// What fails again and again is logged once.
func TestFailuresAreLoggedOnce(t *testing.T) {
	b := newBench(t, `while ! test -e $BASE/go; do sleep 0.02; done`)
	m := &model{next: hold(), fail: 10}
	before := glog.Stats.Warning.Lines()
	_, err := b.run(t, m, b.store(t), func(*child, func()) {
		until(t, "it is claimed", func() bool {
			m.mutex.Lock()
			defer m.mutex.Unlock()
			return m.renewals > 0
		})
		assert.Equal(t, int64(1), glog.Stats.Warning.Lines()-before, "claims")
		m.mutex.Lock()
		m.mute = true
		m.mutex.Unlock()
		until(t, "renewals fail", func() bool {
			m.mutex.Lock()
			defer m.mutex.Unlock()
			return m.muted > 10
		})
		assert.Equal(t, int64(2), glog.Stats.Warning.Lines()-before, "renewals")
		require.NoError(t, os.WriteFile(b.path("go"), nil, 0o600))
	})
	require.NoError(t, err)
}

// JOBS.md J11: the output of a container that was killed has no end, since some of it may be lost.
func TestOutputOfAKilledContainer(t *testing.T) {
	for _, killed := range []bool{false, true} {
		b := newBench(t, `echo first; while ! test -e $BASE/go; do sleep 0.02; done`)
		m := &model{next: hold()}
		out := &sink{text: map[string]string{}, ended: map[string]bool{}}
		b.chunks = out
		_, err := b.run(t, m, b.store(t), func(s *child, _ func()) {
			until(t, "the first line", func() bool { return out.read("stdout") == "first\n" })
			if killed {
				require.NoError(t, s.Process.Kill())
				return
			}
			require.NoError(t, os.WriteFile(b.path("go"), nil, 0o600))
		})
		require.NoError(t, err)
		assert.Equal(t, "first\n", out.read("stdout"))
		assert.Equal(t, !killed, out.ended["stdout"])
	}
}

// JOBS.md J14: no log has a secret: neither an output nor a file below /logs, the end of one included.
func TestSecretsAreRedacted(t *testing.T) {
	b := newBench(t, `cat $ORCON_SECRETS/password; base64 $ORCON_SECRETS/password >&2; printf 'p=s3cret-1 s3cr' >$BASE/logs/file
		echo '{"a": "s3cret-1", "b": 1}' >$STATE/outputs.json`)
	require.NoError(t, os.Mkdir(b.path("secrets"), 0o700))
	require.NoError(t, os.WriteFile(b.path("secrets/password"), []byte("s3cret-1"), 0o600))
	h := hold()
	h.Environment = append(h.Environment, "ORCON_SECRETS="+b.path("secrets"))
	out := &sink{text: map[string]string{}, ended: map[string]bool{}}
	b.chunks = out
	m := &model{next: h}
	_, err := b.run(t, m, b.store(t), nil)
	require.NoError(t, err)
	require.Len(t, m.ends, 1)
	assert.JSONEq(t, `{"a": {"sensitive": true, "value": "s3cret-1"}, "b": 1}`, m.ends[0].Outputs)
	assert.Equal(t, "[redacted]", out.read("stdout"))
	assert.Equal(t, "[redacted]\n", out.read("stderr"))
	assert.Equal(t, "p=[redacted] s3cr", out.read(log.StreamOf("file")))
}
