package job

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// Every field of a Workspace survives its object (JOBS.md J3): one that is lost is a state that is lost.
func TestWorkspaceSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w workspace.Workspace
		fill(t, reflect.ValueOf(&w).Elem())
		w.Name = "shop/db"
		w.Terms = workspace.Terms{Timing: job.DefaultTiming()}
		if w.Lock != (workspace.Lock{}) {
			w.Lock.Fence, w.Lock.Run.UID = max(w.Lock.Fence, 1), "uid"
		}
		o := &v1alpha1.JobWorkspace{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}
		SetWorkspace(o, w)
		got, err := ToWorkspace(stored(t, o), "")
		require.NoError(t, err)
		require.Equal(t, w, got)
		again := o.DeepCopy()
		SetWorkspace(again, got)
		require.Equal(t, o, again, "a second write changes nothing")
	})
}

// A Workspace without state is new.
func TestNewWorkspace(t *testing.T) {
	o := &v1alpha1.JobWorkspace{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}
	w, err := ToWorkspace(o, job.Idempotent)
	require.NoError(t, err)
	assert.Equal(t, workspace.Workspace{Name: "shop/db", Terms: workspace.Terms{Safety: job.Idempotent, Timing: job.DefaultTiming()}}, w)
}

// Settings have defaults.
func TestToTerms(t *testing.T) {
	assert.Equal(t, job.Queue, ToConcurrency(v1alpha1.JobWorkspaceSpec{}))
	spec := v1alpha1.JobWorkspaceSpec{
		Concurrency: "Reject", KeepGenerations: 7, LostAfter: &metav1.Duration{Duration: time.Second}, CancelGracePeriod: &metav1.Duration{},
	}
	assert.Equal(t, job.Reject, ToConcurrency(spec))
	assert.Equal(t, workspace.Terms{Safety: job.ReadOnly, Timing: job.Timing{Lost: time.Second}, Keep: 7}, ToTerms(spec, job.ReadOnly))
}

// How states are captured has defaults; a size that is none is named with its field.
func TestToCapture(t *testing.T) {
	for label, tc := range map[string]struct {
		policy     *v1alpha1.JobStatePolicy
		limit      int64
		checkpoint time.Duration
		says       string
	}{
		"None":       {},
		"Encryption": {policy: &v1alpha1.JobStatePolicy{Encryption: v1alpha1.EncryptionDisabled}},
		"Both": {
			policy: &v1alpha1.JobStatePolicy{MaxSize: "3Mi", CheckpointInterval: &metav1.Duration{Duration: time.Second}},
			limit:  3 << 20, checkpoint: time.Second,
		},
		"Large": {policy: &v1alpha1.JobStatePolicy{MaxSize: "600M"}, says: "spec.state.maxSize: use 1Mi to 512Mi"},
		"Small": {policy: &v1alpha1.JobStatePolicy{MaxSize: "5"}, says: "spec.state.maxSize: use 1Mi to 512Mi"},
		"Words": {policy: &v1alpha1.JobStatePolicy{MaxSize: "much"}, says: "spec.state.maxSize: quantities must match"},
	} {
		t.Run(label, func(t *testing.T) {
			limit, checkpoint, err := ToCapture(v1alpha1.JobWorkspaceSpec{State: tc.policy})
			if tc.says != "" {
				require.ErrorContains(t, err, tc.says)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.limit, limit)
			assert.Equal(t, tc.checkpoint, checkpoint)
		})
	}
}

// A time is stored in seconds, in UTC.
func TestTimes(t *testing.T) {
	zone := time.FixedZone("", 3600)
	at := time.Date(2026, 3, 1, 4, 0, 0, 999, zone)
	o := &v1alpha1.JobWorkspace{}
	SetWorkspace(o, workspace.Workspace{Lock: workspace.Lock{Run: workspace.Run{UID: "1"}, Fence: 1, Since: at}})
	w, err := ToWorkspace(o, "")
	require.NoError(t, err)
	assert.Equal(t, time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC), w.Lock.Since)
}

// What cannot be read is named with its field and the cure, all of it at once.
func TestUnreadableWorkspace(t *testing.T) {
	exit := &v1alpha1.JobExit{Cause: "Kiled"}
	tests := map[string]struct {
		state v1alpha1.JobWorkspaceState
		says  []string
	}{
		"Lock": {
			v1alpha1.JobWorkspaceState{Lock: &v1alpha1.JobLock{
				Run: v1alpha1.JobHolder{Origin: "Pull"}, Safety: "Exclusiv",
				Recovery: &v1alpha1.JobRecovery{Reason: "Gone", Outcome: "Committd", Exit: exit},
			}},
			[]string{
				`state.lock.run.origin: value "Pull" is unknown: use "Push", or leave it out`,
				`state.lock.safety: value "Exclusiv" is unknown: did you mean "Exclusive"?`,
				`state.lock.recovery.reason: value "Gone" is unknown: use one of CaptureFailed, Silent, StateTooLarge, Vanished`,
				`state.lock.recovery.outcome: value "Committd" is unknown: did you mean "Committed"?`,
				`state.lock.recovery.exit.cause: value "Kiled" is unknown: did you mean "Killed"?`,
				`state.lock: a hold needs a fence and the UID of its run`,
			},
		},
		"NoFence": {
			v1alpha1.JobWorkspaceState{Lock: &v1alpha1.JobLock{Run: v1alpha1.JobHolder{UID: "1"}}}, []string{"state.lock: a hold needs a fence"},
		},
		"NoRun": {v1alpha1.JobWorkspaceState{Lock: &v1alpha1.JobLock{Fence: 1}}, []string{"state.lock: a hold needs a fence"}},
		"Generation": {v1alpha1.JobWorkspaceState{Generation: &v1alpha1.JobGeneration{Acceptance: "Yes", Exit: exit}}, []string{
			"state.generation.exit.cause", `state.generation.acceptance: value "Yes" is unknown: use "Accepted"`,
		}},
		"Kept":       {v1alpha1.JobWorkspaceState{Kept: []v1alpha1.JobGeneration{{}, {Exit: exit}}}, []string{"state.kept[1].exit.cause"}},
		"Checkpoint": {v1alpha1.JobWorkspaceState{Checkpoint: &v1alpha1.JobCheckpoint{Consistency: "Whole"}}, []string{"state.checkpoint.consistency"}},
		"Orphan": {v1alpha1.JobWorkspaceState{Orphans: []v1alpha1.JobOrphan{{Exit: exit, Consistency: "Whole", Decision: "Kept"}}}, []string{
			"state.orphans[0].exit.cause", "state.orphans[0].consistency", "state.orphans[0].decision",
		}},
		"LastEnd": {
			v1alpha1.JobWorkspaceState{LastEnd: &v1alpha1.JobEnd{Run: v1alpha1.JobHolder{Origin: "x"}, Outcome: "Lost", Exit: exit}},
			[]string{"state.lastEnd.run.origin", "state.lastEnd.outcome", "state.lastEnd.exit.cause"},
		},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			_, err := ToWorkspace(&v1alpha1.JobWorkspace{State: &tc.state}, "")
			for _, says := range tc.says {
				assert.ErrorContains(t, err, says)
			}
		})
	}
}
