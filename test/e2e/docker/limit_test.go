package docker_test

import (
	"fmt"
	"os"
	"path/filepath"
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
	t.Run("Sealed", func(t *testing.T) { f.of(t).seals() })
}

// starves has the kernel kill a program for lack of memory: that is what the end of its run shows.
func (f *field) starves() {
	f.run("starved", "starved", "starve")
	f.becomes("jobrun/starved", "Failed")
	assert.Equal(f.t, "OutOfMemory", f.value("jobrun/starved", "{.state.end.exit.cause}"))
	f.becomes("jobworkspace/starved", "NeedsAccept")
}

// seals has a run end while the controller is out of reach, long before the run counts as lost: what it has left cannot be
// read on the machine, and is committed later.
func (f *field) seals() {
	f.run("sealed", "sealed", "wait")
	f.ready("sealed")
	text, err := os.ReadFile(filepath.Join(f.attempt("sealed").State(), "ready"))
	require.NoError(f.t, err)
	f.wire.Cut()
	f.signal("sealed")
	f.sealed("sealed", string(text))
	assert.Equal(f.t, "Running", f.value("jobrun/sealed", "{.status.phase}"))
	f.wire.Mend()
	require.NoError(f.t, within(f.t, func() bool {
		return f.value("jobrun/sealed", "{.state.end.outcome} {.state.end.exit.code}") == "Committed 3"
	}))
}
