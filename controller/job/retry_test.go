package job

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// A run whose process may have applied its plan, and that a person had tried again, is not one that did nothing if the next
// attempt is stopped before it starts: its end is unknown, and its plan is not applied once more (JOBS.md J4, J7 and J17).
func TestRetryThatIsStopped(t *testing.T) {
	for label, test := range map[string]struct {
		timeout time.Duration
		stop    func(w *world)
	}{
		"Cancelled": {0, func(w *world) { w.cancel("apply") }},
		"TimedOut":  {2 * time.Minute, func(w *world) { w.now = w.now.Add(3 * time.Minute) }},
		"Unstarted": {0, func(w *world) {
			w.claim()
			w.swap(func(now workspace.Workspace) (workspace.Workspace, error) {
				next, _, err := now.End(workspace.Capture{
					Run: now.Lock.Run, Fence: now.Lock.Fence, Base: now.Lock.Base, Outcome: job.None, Exit: job.Exit{Cause: job.NotStarted}, Now: w.now,
				})
				return next, err
			})
		}},
	} {
		t.Run(label, func(t *testing.T) {
			w, r := planned(t)
			w.approve(planDigest)
			w.run("apply", func(o *v1alpha1.JobRun) {
				if o.Spec.Plan = "plan"; test.timeout > 0 {
					o.Spec.Timeout = &metav1.Duration{Duration: test.timeout}
				}
			})
			w.pass(r, 0)
			w.claim()
			w.pass(r, 0)
			w.pass(r, time.Minute)
			require.Contains(t, w.of("apply"), "Stalled Silent")
			w.swap(func(now workspace.Workspace) (workspace.Workspace, error) {
				return now.Decide(workspace.Verdict{Remedy: workspace.Retry, Fence: now.Lock.Fence, By: "ann"})
			})
			w.pass(r, 0)
			require.Equal(t, int32(2), w.workspace().State.Lock.Attempt)
			test.stop(w)
			for range 3 {
				w.pass(r, time.Second)
			}
			require.NotNil(t, w.get("apply").State.End, w.of("apply"))
			assert.Equal(t, v1alpha1.OutcomeUnknown, w.get("apply").State.End.Outcome)
			assert.Contains(t, w.of("apply"), "Stalled Lost: its end is not known")
			w.applies("again", "plan")
			w.pass(r, 0)
			assert.Contains(t, w.of("again"), "Run apply was admitted to apply it")
		})
	}
}
