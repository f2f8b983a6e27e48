package dockerjob

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// attempt is one of a Run that is carried out.
func attempt() executor.Attempt {
	return executor.Attempt{
		Name: executor.Name{Namespace: "ns", Run: "web-1", UID: "u1", Number: 2}, Workspace: "web", Fence: 7,
		Timing: job.Timing{Grace: 20 * time.Second},
		Input: run.Input{
			Action: "deploy", Artifact: run.Artifact{Image: "example.org/a:1"}, Entrypoint: []string{"sh", "-c"}, Args: []string{"echo $HOME"},
			Files: run.Files{Rescue: []string{"errored.tfstate"}}, Env: map[string]string{"A": "b", "ORCON_RUN": "forged"},
		},
	}
}

// container2 is the name of its container.
const container2 = "orcon-u1-2"

// folder returns a folder whose path is short enough for sockets.
func folder(t *testing.T) string {
	t.Helper()
	path, err := os.MkdirTemp("", "d") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(path) })
	return path
}

// open opens an engine whose keepers end as the shim of their container does: keep is called with each.
func open(t *testing.T, c *client.Client, path string, keep func(context.Context, executor.Attempt, Mounts, <-chan struct{}) error) *Engine {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	e, err := Open(ctx, Settings{Client: c, Folder: path, Program: "/bin/job-runner", Secrets: filepath.Join(path, "memory"), Node: "n1", Limits: DefaultLimits(), Keep: keep})
	require.NoError(t, err)
	t.Cleanup(func() {
		end()
		e.Wait()
	})
	return e
}

// waits is a keeper that waits until its attempt is removed, and leaves an outcome.
func waits(ctx context.Context, _ executor.Attempt, f Mounts, terminate <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-terminate:
	}
	return f.Exchange().WriteOutcome(exchange.Outcome{Code: contract.Refused})
}

// sees waits until an attempt is seen as a condition says.
func sees(t *testing.T, e *Engine, met func(executor.Sight) bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		s, err := e.Look(t.Context(), attempt().Name)
		return err == nil && met(s)
	}, time.Minute, 5*time.Millisecond)
}

func gone(s executor.Sight) bool { return s == executor.Sight{} }

// An agent that ends waits for its keepers.
func TestWait(t *testing.T) {
	_, c := newFake(t, "example.org/a:1")
	ctx, end := context.WithCancel(t.Context())
	kept, held := make(chan struct{}), make(chan struct{})
	e, err := Open(ctx, Settings{Client: c, Folder: folder(t), Program: "/bin/job-runner", Node: "n1", Keep: func(
		context.Context, executor.Attempt, Mounts, <-chan struct{},
	) error {
		close(kept)
		<-held
		return ctx.Err()
	}})
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context(), attempt()))
	<-kept
	end()
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		e.Wait()
	}()
	select {
	case <-waited:
		assert.Fail(t, "a keeper is still at work")
	case <-time.After(50 * time.Millisecond):
	}
	close(held)
	<-waited
}

// JOBS-DESIGN.md 16: an attempt has one container by its name, whatever is repeated, and leaves nothing when it is removed.
func TestLife(t *testing.T) {
	fake, c := newFake(t, "example.org/a:1")
	path := folder(t)
	e := open(t, c, path, waits)
	sees(t, e, gone)
	require.NoError(t, e.Remove(t.Context(), attempt().Name), "there is nothing")
	for range 3 {
		require.NoError(t, e.Start(t.Context(), attempt()))
	}
	require.Eventually(t, func() bool { return fake.starts() == 1 }, time.Minute, 5*time.Millisecond)
	sees(t, e, func(s executor.Sight) bool {
		return s == executor.Sight{Pod: run.Pod{Made: true, Where: "n1"}, Claimant: "n1"}
	})
	assert.Empty(t, fake.pulled)
	assert.Equal(t, []string{"example.org/a:1"}, fake.copied, "once, in a container that is gone")
	assert.Len(t, fake.containers, 1)
	for range 2 {
		require.NoError(t, e.Remove(t.Context(), attempt().Name))
	}
	fake.end()
	sees(t, e, gone)
	assert.Empty(t, fake.containers)
	entries, err := os.ReadDir(path)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// An attempt that was removed while its agent was not there goes with the next one, by the keeper's end.
func TestRemovedBefore(t *testing.T) {
	fake, c := newFake(t, "example.org/a:1")
	path := folder(t)
	f := Mounts(filepath.Join(path, "u1.2"))
	require.NoError(t, f.begin(attempt(), "/none"))
	require.NoError(t, f.mark(removedName))
	require.NoError(t, f.Exchange().WriteStart(exchange.Start{}))
	fake.containers[container2] = &fakeContainer{labels: map[string]string{labelUID: "u1"}, running: true, ended: make(chan struct{})}
	e := open(t, c, path, waits)
	fake.end()
	sees(t, e, gone)
	assert.Empty(t, fake.containers)
	assert.NoDirExists(t, string(f))
}

// An attempt is over when its container has ended, which is killed if it goes on long after its outcome.
func TestEnds(t *testing.T) {
	t.Parallel()
	fake, c := newFake(t, "example.org/a:1")
	e := open(t, c, folder(t), func(_ context.Context, _ executor.Attempt, f Mounts, _ <-chan struct{}) error {
		return f.Exchange().WriteOutcome(exchange.Outcome{})
	})
	require.NoError(t, e.Start(t.Context(), attempt()))
	sees(t, e, func(s executor.Sight) bool { return s.Over })
	fake.mutex.Lock()
	assert.False(t, fake.containers[container2].running)
	fake.mutex.Unlock()
	require.NoError(t, e.Remove(t.Context(), attempt().Name))
	sees(t, e, gone)
}

// JOBS-DESIGN.md 16: the intent is stored before the engine is called, and an agent that starts again goes on with it.
func TestAdopts(t *testing.T) {
	fake, c := newFake(t, "example.org/a:1")
	path := folder(t)
	require.NoError(t, Mounts(filepath.Join(path, "u1.2")).begin(attempt(), "/none"))
	require.NoError(t, os.Mkdir(filepath.Join(path, "u2.1"), 0o700), "an intent that was not stored")
	fake.containers[nameOfImage(attempt().Name)] = &fakeContainer{labels: map[string]string{labelUID: "u1"}, ended: make(chan struct{})}
	kept := make(chan executor.Attempt, 1)
	e := open(t, c, path, func(ctx context.Context, a executor.Attempt, f Mounts, terminate <-chan struct{}) error {
		kept <- a
		return waits(ctx, a, f, terminate)
	})
	assert.Equal(t, attempt(), <-kept)
	assert.Equal(t, 1, fake.starts())
	require.NoError(t, e.Remove(t.Context(), attempt().Name))
	fake.end()
	sees(t, e, gone)

	require.NoError(t, os.WriteFile(filepath.Join(path, "u2.1", attemptName), []byte("{"), 0o600))
	_, err := Open(t.Context(), e.Settings)
	require.ErrorContains(t, err, "cannot adopt what "+filepath.Join(path, "u2.1")+" has: unexpected end of JSON input")
}

// A container whose daemon was killed while it started it is made anew: it would be refused for ever.
func TestStartedHalfway(t *testing.T) {
	fake, c := newFake(t, "example.org/a:1")
	fake.halfway = "task 1f: already exists"
	e := open(t, c, folder(t), waits)
	require.NoError(t, e.Start(t.Context(), attempt()))
	require.Eventually(t, func() bool { return fake.starts() == 1 }, time.Minute, 5*time.Millisecond)
	require.NoError(t, e.Remove(t.Context(), attempt().Name))
	sees(t, e, gone)
}

// JOBS-DESIGN.md 3: a container whose program may have been started is not started again; one whose program was not
// started ends its attempt.
func TestStartsOnce(t *testing.T) {
	fake, c := newFake(t, "example.org/a:1")
	path := folder(t)
	f := Mounts(filepath.Join(path, "u1.2"))
	require.NoError(t, f.begin(attempt(), "/none"))
	require.NoError(t, f.Exchange().WriteStart(exchange.Start{}))
	ended := make(chan *exchange.Ended, 1)
	e := open(t, c, path, func(ctx context.Context, _ executor.Attempt, f Mounts, _ <-chan struct{}) error {
		for ctx.Err() == nil {
			if e, err := f.Exchange().ReadEnded(); e != nil || err != nil {
				ended <- e
				return f.Exchange().WriteOutcome(exchange.Outcome{})
			}
		}
		return ctx.Err()
	})
	got := <-ended
	assert.Equal(t, contract.Refused, got.Code)
	assert.Contains(t, got.Message, "docker logs "+container2)
	sees(t, e, func(s executor.Sight) bool { return s.Over && !s.Stopped })
	assert.Zero(t, fake.starts())
	require.NoError(t, e.Start(t.Context(), attempt()), "it changes nothing")
	require.NoError(t, e.Remove(t.Context(), attempt().Name))
	sees(t, e, gone)
}

// A container does not start for a reason, which is shown until it does.
func TestObstacles(t *testing.T) {
	for label, tc := range map[string]struct {
		image, want string
		prepare     func(*fakeEngine)
	}{
		"Image":  {image: "none.example/a:1", want: "the engine cannot pull image none.example/a:1: "},
		"Runner": {want: "the engine cannot start its container: Error response from daemon: no such program", prepare: func(e *fakeEngine) { e.broken = "no such program" }},
		"Content": {want: "the engine cannot unpack image example.org/a:1: it ended with exit code 67: cannot read /work/a", prepare: func(e *fakeEngine) {
			e.unreadable = "cannot read /work/a"
		}},
		"Elsewhere": {
			want:    "the engine cannot make its container: Error response from daemon: invalid mount config: bind source path does not exist: /a: let the agent's folders",
			prepare: func(e *fakeEngine) { e.refused = "invalid mount config: bind source path does not exist: /a" },
		},
		"Foreign": {want: "its container orcon-u1-2 belongs to something else: remove that", prepare: func(e *fakeEngine) {
			e.containers[container2] = &fakeContainer{ended: make(chan struct{})}
		}},
	} {
		t.Run(label, func(t *testing.T) {
			fake, c := newFake(t, "example.org/a:1")
			if tc.prepare != nil {
				tc.prepare(fake)
			}
			e := open(t, c, folder(t), func(context.Context, executor.Attempt, Mounts, <-chan struct{}) error {
				assert.Fail(t, "it claims nothing")
				return nil
			})
			a := attempt()
			if tc.image != "" {
				a.Input.Image = tc.image
			}
			require.NoError(t, e.Start(t.Context(), a))
			sees(t, e, func(s executor.Sight) bool { return strings.HasPrefix(s.Obstacle, tc.want) })
			require.NoError(t, e.Remove(t.Context(), a.Name))
			sees(t, e, gone)
			assert.Equal(t, label == "Foreign", fake.containers[container2] != nil, "what is another's stays")
		})
	}
}

// An image that the engine does not have is pulled.
func TestPulls(t *testing.T) {
	fake, c := newFake(t)
	e := open(t, c, folder(t), waits)
	require.NoError(t, e.Start(t.Context(), attempt()))
	require.Eventually(t, func() bool { return fake.starts() == 1 }, time.Minute, 5*time.Millisecond)
	assert.Equal(t, []string{"example.org/a:1"}, fake.pulled)
}

// JOBS.md J9: a keeper that ends without an outcome is started again.
func TestKeepsAgain(t *testing.T) {
	_, c := newFake(t, "example.org/a:1")
	var calls atomic.Int64
	e := open(t, c, folder(t), func(_ context.Context, _ executor.Attempt, f Mounts, _ <-chan struct{}) error {
		if calls.Add(1) == 1 {
			return os.ErrPermission
		}
		return f.Exchange().WriteOutcome(exchange.Outcome{})
	})
	require.NoError(t, e.Start(t.Context(), attempt()))
	sees(t, e, func(s executor.Sight) bool { return strings.Contains(s.Obstacle, "its keeper left no outcome") })
	require.NoError(t, e.Remove(t.Context(), attempt().Name))
	require.Eventually(t, func() bool { return calls.Load() == 2 }, time.Minute, 5*time.Millisecond)
}

// JOBS.md J15 and JOBS-DESIGN.md 16: a container has no right but those it needs.
func TestBuild(t *testing.T) {
	o := build(attempt(), "/runs/u1.2", "/bin/job-runner", Limits{Memory: 1 << 30, Processes: 100})
	text, err := json.Marshal(map[string]any{"name": o.Name, "config": o.Config, "host": o.HostConfig})
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal(text, &all))
	got, err := json.MarshalIndent(set(all), "", "  ")
	require.NoError(t, err)
	want, err := os.ReadFile("testdata/container.json")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got)+"\n")
	none := build(attempt(), "/runs/u1.2", "/bin/job-runner", Limits{}).HostConfig
	assert.Nil(t, none.PidsLimit)
}

// set returns the fields that have a value.
func set(all map[string]any) map[string]any {
	for name, value := range all {
		if below, is := value.(map[string]any); is {
			all[name] = set(below)
		}
		if value == nil || value == "" || value == false || value == 0.0 {
			delete(all, name)
		}
	}
	return all
}

// JOBS.md J14: the folder of secrets is in memory while an attempt with secrets is carried out, also when the machine has
// restarted meanwhile, and is gone when it is over.
func TestSecrets(t *testing.T) {
	fake, c := newFake(t, "example.org/a:1")
	path := folder(t)
	a := attempt()
	a.Input.Secrets = []run.SecretFile{{Name: "password"}}
	require.NoError(t, Mounts(filepath.Join(path, "u1.2")).begin(a, filepath.Join(path, "memory")), "an agent that was killed")
	memory := filepath.Join(path, "memory", "u1.2")
	e := open(t, c, path, func(ctx context.Context, a executor.Attempt, f Mounts, terminate <-chan struct{}) error {
		assert.NoError(t, os.WriteFile(filepath.Join(f.Secrets(), "password"), []byte("s3cret"), 0o400))
		return waits(ctx, a, f, terminate)
	})
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(memory, "password"))
		return err == nil
	}, time.Minute, 5*time.Millisecond)
	mounts, err := json.Marshal(fake.containers[container2].body["HostConfig"])
	require.NoError(t, err)
	assert.Contains(t, string(mounts), `{"ReadOnly":true,"Source":"`+path+`/u1.2/secrets","Target":"/run/orcon/secrets","Type":"bind"}`)
	require.NoError(t, e.Remove(t.Context(), a.Name))
	fake.end()
	sees(t, e, gone)
	assert.NoDirExists(t, memory)
	e.Secrets = ""
	require.ErrorContains(t, e.Start(t.Context(), a), "there is no folder in memory for them")
}

// Settings that cannot work are refused, with the cure.
func TestOpenRefuses(t *testing.T) {
	_, c := newFake(t)
	ok := Settings{Client: c, Folder: folder(t), Program: "/bin/job-runner", Node: "n", Keep: waits}
	for want, change := range map[string]func(*Settings){
		"set Client, Keep, Node":  func(s *Settings) { s.Node = "" },
		"absolute paths":          func(s *Settings) { s.Folder = "runs" },
		"choose a shorter one":    func(s *Settings) { s.Folder = "/" + strings.Repeat("x", longestFolder) },
		"cannot adopt runs: open": func(s *Settings) { s.Folder += "/none" },
	} {
		s := ok
		change(&s)
		_, err := Open(t.Context(), s)
		require.ErrorContains(t, err, want)
	}
}
