package docker_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/dockerjob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/selftest"
	nodes "gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/test/docker"
)

// JOBS.md J13 and JOBS-DESIGN.md 16: each phase of a run outlives a cut of the network. Runs outlive the engine, a new build
// of the agent, and a machine that reboots: what they have left is committed.
func TestNodeInTrouble(t *testing.T) {
	f := newField(t)
	images := docker.Push(t, filepath.Join(docker.Folder(), imageName), filepath.Join(docker.Folder(), agentName))
	f.apply(fmt.Sprintf(templates, images[0]))
	f.joins()

	f.wire.Cut()
	f.begin("offered", "check")
	require.NoError(t, within(t, func() bool { return f.offers() != "" }))
	f.wire.Mend()
	f.ended("offered", "Succeeded", "1")

	f.begin("made", "wait")
	folder := f.attempt("made")
	require.NoError(t, within(t, func() bool { return exists(string(folder)) }))
	f.wire.Cut()
	require.NoError(t, within(t, func() bool { return f.container("made") != "" }))
	assert.NoFileExists(t, filepath.Join(string(folder.Exchange()), "start"), "it has not claimed")
	f.wire.Mend()
	f.ready("made")
	f.signal("made")
	f.ended("made", "Failed", "2")

	f.begin("captured", "late")
	f.ready("captured")
	f.wire.Cut()
	folder = f.attempt("captured")
	require.NoError(t, os.WriteFile(filepath.Join(folder.State(), selftest.Released), nil, 0o600))
	require.NoError(t, within(t, func() bool { return exists(filepath.Join(string(folder.Exchange()), "ended")) }))
	assert.NoFileExists(t, filepath.Join(string(folder.Exchange()), "outcome"))
	f.wire.Mend()
	f.ended("captured", "Succeeded", "3")

	f.begin("engine", "wait")
	f.ready("engine")
	docker.Restart(t)
	f.ended("engine", "Failed", "4")

	f.begin("upgraded", "wait")
	before := f.ready("upgraded")
	f.kill(f.agent)
	f.startBuild(nextName)
	assert.Equal(t, before, f.ready("upgraded"), "the same container goes on")
	f.orcon("job", "cancel", "upgraded", "-n", shop)
	f.ended("upgraded", "Cancelled", "5")
	installed, err := os.ReadFile(filepath.Join(f.node, programName))
	require.NoError(t, err)
	next, err := os.ReadFile(filepath.Join(docker.Folder(), nextName))
	require.NoError(t, err)
	assert.Equal(t, sha256.Sum256(next), sha256.Sum256(installed), "further containers have the new program")

	f.begin("rebooted", "wait")
	f.ready("rebooted")
	f.kill(f.agent)
	docker.Reboot(t)
	f.startBuild(nextName)
	f.ended("rebooted", "Failed", "6")
	f.orcon("job", "state", "accept", "web", "-n", shop, "--because", "the machine has rebooted", "--yes")
	f.begin("last", "check")
	f.ended("last", "Succeeded", "7")
	t.Run("Container", func(t *testing.T) { f.contained(t, images[1]) })
}

// contained has an agent that is a container of the engine join beside the adopted one, which goes on until a person decides.
// The container comes back with the engine, and its runs end.
func (f *field) contained(t *testing.T, image string) {
	f = f.of(t)
	invitation, err := nodes.ParseInvitation(f.orcon("job", "node", "join", lab))
	require.NoError(t, err)
	invitation.Address = "https://127.0.0.1:" + docker.ServicePort
	f.node, err = os.MkdirTemp("", "n") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(f.node) })
	f.memory, err = os.MkdirTemp("/dev/shm", "orcon-") //nolint:usetesting // a tmpfs
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(f.memory) })
	require.NoError(t, os.WriteFile(filepath.Join(f.node, "token"), []byte(invitation.String()), 0o600))
	docker.Forward(t, f.wire.Address())
	f.docker("run", "--detach", "--name", "orcon-agent", "--restart", "always", "--network", "host", "--ipc", "host", "--read-only",
		"--cap-drop", "ALL", "--volume", f.node+":"+f.node, "--volume", docker.Socket()+":/var/run/docker.sock",
		image, "agent", "--folder", f.node, "--secrets", f.memory, "--join", filepath.Join(f.node, "token"))
	t.Cleanup(func() { f.docker("rm", "--force", "orcon-agent") })
	first := f.value("runnode/"+lab, "{.spec.key}")
	key := func() string { return f.value("runnode/"+lab, "{.state.key}") }
	require.NoError(t, within(t, func() bool { return key() != first }))
	require.NoError(t, within(t, func() bool {
		return strings.Contains(f.value("runnode/"+lab, "{.status.conditions[*].message}"), "another machine has joined with key "+key())
	}))
	f.begin("beside", "check")
	f.ended("beside", "Succeeded", "8")
	out, err := f.try("job", "node", "approve", lab, "--yes")
	require.Error(t, err, out)
	assert.Contains(t, out, "say by --key which of them it is to be")
	f.orcon("job", "node", "approve", lab, "--key", key(), "--yes")
	require.NoError(t, within(t, func() bool { return f.value("runnode/"+lab, "{.status.caller}") == key() }))
	f.becomes("runnode/"+lab, "Ready")
	f.begin("contained", "wait")
	f.ready("contained")
	docker.Restart(t)
	f.ended("contained", "Failed", "9")
}

// docker runs a command of the engine.
func (f *field) docker(args ...string) {
	out, err := exec.Command("docker", append([]string{"--host", "unix://" + docker.Socket()}, args...)...).CombinedOutput()
	require.NoError(f.t, err, string(out))
}

// attempt returns the folder of the first attempt of a run, which may not be there yet.
func (f *field) attempt(name string) dockerjob.Mounts {
	return dockerjob.Mounts(filepath.Join(f.node, "runs", f.value("jobrun/"+name, "{.metadata.uid}")+".1"))
}

// container returns the container of a run; "" for none.
func (f *field) container(name string) string {
	id := "orcon-" + strings.Replace(filepath.Base(string(f.attempt(name))), ".", "-", 1)
	if _, err := engine(f.t).ContainerInspect(f.t.Context(), id, client.ContainerInspectOptions{}); err != nil {
		return ""
	}
	return id
}

// signal ends the program of a run, as a person at the machine does.
func (f *field) signal(name string) {
	_, err := engine(f.t).ContainerKill(f.t.Context(), f.container(name), client.ContainerKillOptions{Signal: "SIGTERM"})
	require.NoError(f.t, err)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
