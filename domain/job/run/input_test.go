package run_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// A destroy run has the input of the last run but for the action, also when the template is gone (JOBS.md J18).
func TestUndo(t *testing.T) {
	last := run.Input{Action: "deploy", Artifact: run.Artifact{Image: "a"}, Entrypoint: []string{"apply"}, Args: []string{"x"}, Env: map[string]string{"A": "b"}}
	_, err := last.Undo()
	require.ErrorContains(t, err, "has no action destroy: set spec.deletionPolicy")
	last.Destroy = run.Action{Entrypoint: []string{"destroy"}}
	want := last
	want.Action, want.Entrypoint, want.Args = "destroy", []string{"destroy"}, nil
	got, err := last.Undo()
	require.NoError(t, err)
	assert.Equal(t, want, got)
}
