package job

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// A destroy run has the input of the run that had the lock last, also where the process dies before the end of that run is
// stored (JOBS.md J18).
func TestDestroyHasTheLastInput(t *testing.T) {
	deaths := 0
	for writes := 0; ; writes++ {
		w, r := ran(t)
		w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"size": 3}`)} })
		w.run("two")
		w.pass(r, 0)
		w.claim()
		w.delete(w.workspace())
		w.pass(r, 0)
		w.finish(143, "sha256:2")
		w.writes = writes
		died := w.live(w.process()) != nil
		w.writes = -1
		w.pass(w.process(), 0)
		destroys := w.current().attempt.Input
		require.Equal(t, []string{"/destroy"}, destroys.Entrypoint, writes)
		assert.Equal(t, "3", fmt.Sprint(destroys.Parameters["size"]), "what run two made is destroyed as it was made: death after %d writes", writes)
		if !died {
			break
		}
		deaths++
	}
	assert.Greater(t, deaths, 4)
}

// A destroy run that a person makes while the deletion stops another run destroys what that one makes.
func TestDestroyMadeEarly(t *testing.T) {
	w, r := ran(t)
	w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"size": 3}`)} })
	w.run("two")
	w.pass(r, 0)
	w.claim()
	w.delete(w.workspace())
	w.run("early", func(o *v1alpha1.JobRun) { o.Spec.Action = "destroy" })
	w.pass(r, 0)
	w.finish(143, "sha256:2")
	w.pass(r, 0)
	require.Equal(t, "early", w.current().attempt.Run)
	assert.Equal(t, "3", fmt.Sprint(w.current().attempt.Input.Parameters["size"]))
}
