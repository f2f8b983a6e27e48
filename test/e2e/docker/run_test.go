package docker_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/dockerjob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/selftest"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/test/conformance/api"
	"gitlab.ilabt.imec.be/tengu/orcon/test/docker"
)

// JOBS.md J7, J9, J11 and J15: containers carry runs out as the contract promises: nothing differs from the golden report.
func TestConformance(t *testing.T) {
	report, err := selftest.Drive(t.Context(), newWorld(t))
	require.NoError(t, err)
	assert.Empty(t, conformance.Differences(conformance.Golden(), report))
}

// waiting returns an attempt whose program waits for SIGTERM, and what must be true before a fault.
func (w *world) waiting() (a executor.Attempt, ready func() bool) {
	a = w.attempt(selftest.Exercise{Args: []string{"stop"}})
	file := filepath.Join(w.folder, a.UID+".1", "state", "ready")
	return a, func() bool {
		_, err := os.Stat(file)
		return err == nil
	}
}

// id returns the ID of the container of an attempt.
func (w *world) id(a executor.Attempt) string {
	c, err := w.docker.ContainerInspect(w.t.Context(), container(a.Name), client.ContainerInspectOptions{})
	require.NoError(w.t, err)
	return c.Container.ID
}

// JOBS-DESIGN.md 16: an agent that is killed leaves its runs, which the next one adopts: the same container goes on, and its
// state is stored.
func TestAdopted(t *testing.T) {
	w := newWorld(t)
	w.leave()
	a, ready := w.waiting()
	first := w.startAgent(a)
	require.NoError(t, within(t, ready))
	before := w.id(a)
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()

	w.enter()
	seen := len(w.Renewals(a.UID))
	require.NoError(t, within(t, func() bool { return len(w.Renewals(a.UID)) > seen+1 }), "its hold is renewed")
	assert.Equal(t, before, w.id(a))
	require.NoError(t, w.Start(t.Context(), a), "it changes nothing")
	s, err := w.Look(t.Context(), a.Name)
	require.NoError(t, err)
	assert.True(t, s.Made && !s.Over && !s.Stopped && s.Obstacle == "")
	assert.Equal(t, node, s.Claimant)
	w.Cancel(a.UID)
	require.NoError(t, w.over(t.Context(), a.Name))
	r, err := w.Result(t.Context(), a.Workspace)
	require.NoError(t, err)
	assert.Equal(t, job.Committed, r.Outcome)
	assert.NotEmpty(t, r.State["term"])
	_, err = w.docker.ContainerInspect(t.Context(), container(a.Name), client.ContainerInspectOptions{})
	assert.True(t, errdefs.IsNotFound(err), "its container is gone: %v", err)
	entries, err := os.ReadDir(w.folder)
	require.NoError(t, err)
	assert.Empty(t, entries, "its folder is gone")
}

// JOBS-DESIGN.md 16: the state outlives container and machine, and is captured afterwards. The program does not start again.
func TestRebooted(t *testing.T) {
	w := newWorld(t)
	a, ready := w.waiting()
	require.NoError(t, w.Start(t.Context(), a))
	require.NoError(t, within(t, ready))
	w.leave()
	docker.Reboot(t)
	w.enter()
	require.NoError(t, within(t, func() bool {
		s, err := w.Look(t.Context(), a.Name)
		return err == nil && s.Over
	}))
	c, err := w.docker.ContainerInspect(t.Context(), container(a.Name), client.ContainerInspectOptions{})
	require.NoError(t, err)
	assert.False(t, c.Container.State.Running)
	require.NoError(t, w.over(t.Context(), a.Name))
	r, err := w.Result(t.Context(), a.Workspace)
	require.NoError(t, err)
	assert.Equal(t, job.Committed, r.Outcome)
	assert.Equal(t, contract.Vanished, r.Code)
	assert.NotEmpty(t, r.State["ready"])
	assert.Empty(t, r.State["term"])
}

// JOBS.md J7: an attempt that is removed is stopped as by a cancel, and its state is stored before it goes.
func TestRemoved(t *testing.T) {
	w := newWorld(t)
	a, ready := w.waiting()
	require.NoError(t, w.Start(t.Context(), a))
	require.NoError(t, within(t, ready))
	require.NoError(t, w.over(removed(t, w, a), a.Name))
	r, err := w.Result(t.Context(), a.Workspace)
	require.NoError(t, err)
	assert.Equal(t, job.Committed, r.Outcome)
	assert.NotEmpty(t, r.State["term"])
}

// removed removes an attempt.
func removed(t *testing.T, w *world, a executor.Attempt) context.Context {
	require.NoError(t, w.Remove(t.Context(), a.Name))
	return t.Context()
}

// JOBS.md J10: an image that cannot be pulled claims nothing, and tells why.
func TestUnpulled(t *testing.T) {
	w := newWorld(t)
	a := w.attempt(selftest.Exercise{Args: []string{"stop"}})
	a.Input.Image = "registry.invalid/none:1"
	require.NoError(t, w.Start(t.Context(), a))
	require.NoError(t, within(t, func() bool {
		s, err := w.Look(t.Context(), a.Name)
		return err == nil && s.Obstacle != ""
	}))
	s, err := w.Look(t.Context(), a.Name)
	require.NoError(t, err)
	assert.Contains(t, s.Obstacle, "the engine cannot pull image registry.invalid/none:1: ")
	assert.Empty(t, w.Workspace(a.Workspace).Lock.Claimant.ID)
	require.NoError(t, w.Remove(t.Context(), a.Name))
	require.NoError(t, within(t, func() bool {
		s, err := w.Look(t.Context(), a.Name)
		return err == nil && s == executor.Sight{}
	}))
}

// A container that cannot do what an agent may do has the limits of the node.
func TestConfined(t *testing.T) {
	w := newWorld(t)
	a, ready := w.waiting()
	require.NoError(t, w.Start(t.Context(), a))
	require.NoError(t, within(t, ready))
	c, err := w.docker.ContainerInspect(t.Context(), container(a.Name), client.ContainerInspectOptions{})
	require.NoError(t, err)
	h := c.Container.HostConfig
	limits := dockerjob.Limits{Memory: h.Memory, Processes: *h.PidsLimit}
	assert.Equal(t, dockerjob.DefaultLimits(), limits)
	assert.False(t, h.Privileged)
	for _, m := range c.Container.Mounts {
		assert.NotContains(t, m.Source, "docker.sock")
	}
	require.NoError(t, w.over(removed(t, w, a), a.Name))
}

// within waits for what must come about.
func within(t *testing.T, met func() bool) error {
	ctx, end := context.WithTimeout(t.Context(), patience)
	defer end()
	return api.Wait(ctx, met)
}
