package docker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/docker"
)

// limited is a template whose runs meet the limits of a machine, with a JobWorkspace for each test.
const limited = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: limited, namespace: shop}
spec:
  image: %q
  contract: v1
  actions:
    - {name: starve, entrypoint: [sh, -ec, 'echo begun >/state/begun; tail /dev/zero']}
    - {name: grow, entrypoint: [sh, -ec, 'head -c 3000000 /dev/urandom >/state/all']}
    - {name: stay, entrypoint: [sh, -ec, 'echo small >/state/all']}
    - name: write
      entrypoint: [sh, -ec]
      args: ['n=0; while :; do n=$((n+1)); echo "$n" >/state/new; mv /state/new /state/n; sleep 0.3; done']
    - name: wait
      entrypoint: [sh, -ec]
      args: ['trap "exit 3" TERM; echo "$ORCON_RUN.secret" >/state/ready; while :; do sleep 0.1; done']
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: starved, namespace: shop}
spec: {template: limited, target: {runNode: {name: lab-1}}}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: large, namespace: shop}
spec: {template: limited, target: {runNode: {name: lab-1}}, state: {maxSize: 2M}}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: written, namespace: shop}
spec: {template: limited, target: {runNode: {name: lab-1}}, lostAfter: 15s, state: {checkpointInterval: 1s}}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: sealed, namespace: shop}
spec: {template: limited, target: {runNode: {name: lab-1}}, lostAfter: 1h}
`

// JOBS-DESIGN.md 7, 10, 16 and 17: runs on a machine meet limits as in the cluster, where states are stored in plain too.
func TestLimits(t *testing.T) {
	f := newFieldAt(t, "", "-encryption", "Disabled")
	images := docker.Push(t, filepath.Join(docker.Folder(), busyboxName))
	f.apply(fmt.Sprintf(limited, images[0]))
	f.machine = []string{"--memory", fmt.Sprint(128 << 20)}
	f.joins()
	t.Run("Memory", func(t *testing.T) { f.of(t).starves() })
	t.Run("State", func(t *testing.T) { f.of(t).grows() })
	t.Run("Checkpoints", func(t *testing.T) { f.checkpoints() })
	t.Run("Sealed", func(t *testing.T) { f.of(t).seals() })
}

// starves has the kernel kill a program for lack of memory: that is what the end of its run shows.
func (f *field) starves() {
	f.run("starved", "starved", "starve")
	f.becomes("jobrun/starved", "Failed")
	assert.Equal(f.t, "OutOfMemory", f.value("jobrun/starved", "{.state.end.exit.cause}"))
	f.becomes("jobworkspace/starved", "NeedsAccept")
}

// grows has a run leave more state than it may: that is kept as an orphan until a person decides, and nothing starts before.
func (f *field) grows() {
	f.run("large", "large", "grow")
	f.becomes("jobrun/large", "Lost")
	message := f.value("jobrun/large", "{.status.conditions[?(@.type=='Stalled')].reason}: {.status.conditions[?(@.type=='Stalled')].message}")
	assert.Contains(f.t, message, "StateTooLarge: its process has ended (exit code 0), and its state is too large, and kept as an orphan: the state is too large: "+
		"as an archive it has 30")
	assert.Contains(f.t, message, "more than 2000000: remove or exclude files, or raise spec.state.maxSize of the JobWorkspace: decide with `orcon job unlock shop/large")
	f.becomes("jobworkspace/large", "NeedsRecovery")
	assert.NotEmpty(f.t, f.value("jobworkspace/large", "{.state.orphans[0].archive.key}"))
	f.orcon("job", "unlock", "large", "-n", shop, "--because", "it is not needed", "--discard", "--yes")
	f.becomes("jobworkspace/large", "Ready")
	f.run("large", "small", "stay")
	f.becomes("jobrun/small", "Succeeded")
}

// checkpoints has the agent killed while a program writes, until the run is lost: a person accepts the last checkpoint, which
// is one of the states that there were before, and what comes later is an orphan.
func (f *field) checkpoints() {
	t, sequence := f.t, func() int {
		n, _ := strconv.Atoi(f.value("jobworkspace/written", "{.state.checkpoint.sequence}"))
		return n
	}
	f.run("written", "written", "write")
	require.NoError(t, within(t, func() bool { return sequence() >= 3 }), "there are checkpoints")
	state := f.attempt("written").State()
	written := func(folder string) int {
		text, err := os.ReadFile(filepath.Join(folder, "n"))
		require.NoError(t, err)
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		require.NoError(t, err)
		return n
	}
	f.kill(f.agent)
	atMost, last := written(state), sequence()
	f.becomes("jobrun/written", "Lost")
	assert.Contains(t, f.value("jobrun/written", "{.status.conditions[*].message}"), "--because TEXT --accept checkpoint")
	require.NoError(t, within(t, func() bool { return written(state) > atMost }), "the program goes on")
	f.orcon("job", "unlock", "written", "-n", shop, "--because", "the machine burnt down", "--accept", "checkpoint", "--yes")
	assert.Equal(t, "1", f.value("jobworkspace/written", "{.state.generation.number}"))
	pulled := filepath.Join(t.TempDir(), "state")
	f.orcon("job", "state", "pull", "written", pulled, "-n", shop)
	assert.GreaterOrEqual(t, written(pulled), last)
	assert.LessOrEqual(t, written(pulled), atMost)

	f.startAgent()
	require.NoError(t, within(t, func() bool { return f.value("jobworkspace/written", "{.state.orphans[0].archive.key}") != "" }))
	assert.Equal(t, "1", f.value("jobworkspace/written", "{.state.generation.number}"))
}

// seals has a run end while the controller is out of reach, long before the run counts as lost: what it has left cannot be
// read on the machine, and is committed later.
func (f *field) seals() {
	f.run("sealed", "sealed", "wait")
	f.ready("sealed")
	text := f.written("sealed")
	f.wire.Cut()
	f.signal("sealed")
	f.sealed("sealed", text)
	assert.Equal(f.t, "Running", f.value("jobrun/sealed", "{.status.phase}"))
	f.wire.Mend()
	require.NoError(f.t, within(f.t, func() bool {
		return f.value("jobrun/sealed", "{.state.end.outcome} {.state.end.exit.code}") == "Committed 3"
	}))
}
