package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
)

func TestJobRun(t *testing.T) {
	j := newJobCluster(t)
	code, out, errs := j.call("", "run", "web", "--action", "deploy", "--timeout", "10m")
	require.Zero(t, code, errs)
	assert.Equal(t, "JobRun shop/web-1 is created: orcon job logs web-1 -n shop -f\n", out)
	assert.Equal(t, v1alpha1.JobRunSpec{Workspace: "web", Action: "deploy", Timeout: &metav1.Duration{Duration: 10 * time.Minute}}, j.runs["web-1"].Spec)
	assert.JSONEq(t, `{"replicas":1,"region":"eu"}`, string(j.workspace.Spec.Parameters.Raw), "as they were")
}

// A JobWorkspace that is not there is made of a template, with its parameters, once they fit; one that is there is used
// (JOBS-DESIGN.md 19).
func TestJobRunTemplate(t *testing.T) {
	j := newJobCluster(t)
	code, out, errs := j.call("", "run", "--template", "tofu", "--name", "new", "--action", "deploy", "--set", "replicas=2")
	require.Zero(t, code, errs)
	assert.Contains(t, out, "JobRun shop/new-1 is created")
	assert.Contains(t, errs, "JobWorkspace shop/new is created")
	require.Len(t, j.made, 1)
	assert.Equal(t, "tofu", j.made[0].Spec.Template)
	assert.JSONEq(t, `{"replicas":2}`, string(j.made[0].Spec.Parameters.Raw))
	code, _, errs = j.call("", "run", "--template", "tofu", "--name", "web", "--action", "check")
	require.Zero(t, code, errs)
	tests := map[string]struct {
		args []string
		says string
	}{
		"Other":    {[]string{"--template", "ansible", "--name", "web", "--action", "deploy"}, "JobWorkspace shop/web is there with template tofu, not ansible"},
		"Half":     {[]string{"--template", "tofu", "--action", "deploy"}, "--template and --name go together"},
		"Both":     {[]string{"web", "--template", "tofu", "--name", "web", "--action", "deploy"}, `cannot use "web" with --template and --name`},
		"Neither":  {[]string{"--action", "deploy"}, "WORKSPACE is missing"},
		"Action":   {[]string{"--template", "tofu", "--name", "newer", "--action", "deplyo"}, "deplyo"},
		"Template": {[]string{"--template", "none", "--name", "newer", "--action", "deploy"}, "cannot make JobWorkspace shop/newer: JobTemplate shop/none does not exist, or has no version yet: orcon job template list -n shop lists those that there are"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, _, errs := j.call("", append([]string{"run"}, tc.args...)...)
			assert.Equal(t, exitMisuse, code)
			assert.Contains(t, errs, tc.says)
		})
	}
	assert.Len(t, j.made, 1, "nothing is made for a run that cannot start")
	assert.Len(t, j.runs, 2)
}

// Parameters are those of the JobWorkspace, and are checked before they are stored.
func TestJobRunSet(t *testing.T) {
	j := newJobCluster(t)
	code, _, errs := j.call("", "run", "web", "--action", "deploy", "--set", "replicas=3", "--set", "region=")
	require.Zero(t, code, errs)
	assert.JSONEq(t, `{"replicas":3}`, string(j.workspace.Spec.Parameters.Raw))
	code, _, errs = j.call("", "run", "web", "--action", "deploy", "--set", `region="3"`)
	require.Zero(t, code, errs)
	assert.JSONEq(t, `{"replicas":3,"region":"3"}`, string(j.workspace.Spec.Parameters.Raw))
	code, _, errs = j.call("", "run", "web", "--action", "deploy", "--set", "regoin=eu")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "regoin")
	code, _, errs = j.call("", "run", "web", "--action", "deploy", "--set", "token=hunter2")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, `parameter "token" is sensitive, and all can read parameters`)
	assert.NotContains(t, errs, "hunter2", "JOBS.md J14")
	assert.JSONEq(t, `{"replicas":3,"region":"3"}`, string(j.workspace.Spec.Parameters.Raw))
	assert.Len(t, j.runs, 2)
}

// Orcon writes to a JobWorkspace while a person sets its parameters: that fails no command, and neither change is lost.
func TestJobRunSetMeanwhile(t *testing.T) {
	j := newJobCluster(t)
	j.meanwhile = func(w *v1alpha1.JobWorkspace) {
		w.Spec.Parameters.Raw = []byte(`{"replicas":1,"region":"us"}`)
		w.Status.Phase = "Running"
	}
	code, _, errs := j.call("", "run", "web", "--action", "deploy", "--set", "replicas=3")
	require.Zero(t, code, errs)
	assert.JSONEq(t, `{"replicas":3,"region":"us"}`, string(j.workspace.Spec.Parameters.Raw))
	assert.Equal(t, "Running", j.workspace.Status.Phase)
}

// A run that is followed shows what it does, its log, and its exit code.
func TestJobRunFollow(t *testing.T) {
	tests := map[string]struct {
		why     string
		phase   v1alpha1.JobRunPhase
		exit    *v1alpha1.JobExit
		code    int
		message string
	}{
		"Succeeded": {"", "Succeeded", nil, 0, "it succeeded; its state is committed"},
		"Failed":    {"the code of the program", "Failed", &v1alpha1.JobExit{Code: 7}, 7, "it failed with exit code 7"},
		"Runner":    {"a code that means something else here", "Failed", &v1alpha1.JobExit{Code: 65}, 1, "it failed"},
		"Killed":    {"no code at all", "Failed", &v1alpha1.JobExit{Cause: "OutOfMemory"}, 1, "it failed with OutOfMemory"},
		"Cancelled": {"by another person", "Cancelled", &v1alpha1.JobExit{Code: 143}, 1, "its process was stopped"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			j := newJobCluster(t)
			j.chunk(t, 4, "hello\n")
			j.looked = func(looks int, r *v1alpha1.JobRun) {
				r.Status.Phase, r.Status.Fence, r.Status.Attempt = "Running", 4, 1
				r.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Message: "it runs on n1"}}
				if looks > 1 {
					end(r, tc.phase, tc.message, tc.exit)
				}
			}
			code, out, errs := j.call("", "run", "web", "--action", "deploy", "--follow")
			assert.Equal(t, tc.code, code, tc.why)
			assert.Equal(t, "hello\n", out)
			assert.Equal(t, "JobRun shop/web-1 is created\nRunning: it runs on n1\n"+string(tc.phase)+": "+tc.message+"\n", errs)
		})
	}
}

// A run that never started has no log to wait for.
func TestJobRunFollowRejected(t *testing.T) {
	j := newJobCluster(t)
	j.looked = func(_ int, r *v1alpha1.JobRun) { end(r, "Rejected", "another run goes on", nil) }
	code, out, errs := j.call("", "run", "web", "--action", "deploy", "--follow")
	assert.Equal(t, exitFailed, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "Rejected: another run goes on\n")
}

func TestJobRuns(t *testing.T) {
	j := newJobCluster(t)
	_, out, errs := j.call("", "runs")
	assert.Empty(t, out)
	assert.Contains(t, errs, "there are no runs: orcon job run WORKSPACE --action ACTION -n shop starts one")
	j.add("web-1", 3*time.Hour, func(r *v1alpha1.JobRun) { end(r, "Failed", "it failed with exit code 7", &v1alpha1.JobExit{Code: 7}) })
	j.add("web-2", time.Hour, func(r *v1alpha1.JobRun) {
		r.Status.Phase, r.Status.Attempt = "Lost", 2
		r.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Message: "it sends no renewals"}}
	})
	j.add("other", time.Minute, func(r *v1alpha1.JobRun) { r.Spec.Workspace = "db" })
	_, out, _ = j.call("", "runs", "web")
	assert.Equal(t, "RUN     WORKSPACE   ACTION   PHASE    ATTEMPTS   STATE       AGE   MESSAGE\n"+
		"web-2   web         deploy   Lost     2                      60m   it sends no renewals\n"+
		"web-1   web         deploy   Failed   1          Committed   3h    it failed with exit code 7\n", out)
	_, out, _ = j.call("", "runs", "-o", "json")
	var all []shownRun
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	require.Len(t, all, 3)
	assert.Equal(t, "other", all[0].Name)
	assert.Equal(t, int32(7), all[2].End.Exit.Code)
	args := append([]string{"job", "runs", "-A"}, j.args[2:]...)
	_, out, errs = call("", args...)
	assert.Contains(t, out, "NAMESPACE   RUN     WORKSPACE", errs)
	_, out, _ = call("", append([]string{"job", "runs", "shop/web"}, j.args[2:]...)...)
	assert.Contains(t, out, "web-2   web", "as messages name it")
}

func TestJobCancel(t *testing.T) {
	j := newJobCluster(t)
	j.add("web-1", time.Hour, func(*v1alpha1.JobRun) {})
	code, out, errs := j.call("", "cancel", "web-1")
	require.Zero(t, code, errs)
	assert.Equal(t, "JobRun shop/web-1 is being cancelled: orcon job runs -n shop shows its end\n", out,
		"it has no log: its JobWorkspace may not be there")
	assert.Equal(t, v1alpha1.CancelRequested, j.runs["web-1"].Spec.Cancel)
	j.add("web-2", time.Hour, func(r *v1alpha1.JobRun) { end(r, "Succeeded", "", nil) })
	code, out, _ = j.call("", "cancel", "web-2")
	assert.Zero(t, code)
	assert.Equal(t, "JobRun shop/web-2 has ended: Succeeded\n", out)
	assert.Empty(t, j.runs["web-2"].Spec.Cancel)
	j.add("web-3", time.Hour, func(r *v1alpha1.JobRun) { r.Status.Fence = 3 })
	_, out, _ = j.call("", "cancel", "web-3")
	assert.Equal(t, "JobRun shop/web-3 is being cancelled: orcon job logs web-3 -n shop -f shows its end\n", out)
}

func TestJobLogs(t *testing.T) {
	j := newJobCluster(t)
	j.add("web-1", time.Hour, func(r *v1alpha1.JobRun) { r.Status.Fence = 3; end(r, "Succeeded", "", nil) })
	j.chunk(t, 3, "one\n\x1b[31mtwo\n")
	for _, args := range [][]string{{"logs", "web-1"}, {"logs", "web-1", "-f"}, {"logs", "web-1", "--attempt", "1", "--since", "1h"}} {
		code, out, errs := j.call("", args...)
		require.Zero(t, code, errs)
		assert.Equal(t, "one\n\x1b[31mtwo\n", out, "a file gets all bytes")
	}
}

// Runs whose objects are gone are listed once, and their logs are printed (JOBS.md J11 and J18).
func TestJobPastRuns(t *testing.T) {
	j := newJobCluster(t)
	j.add("web-2", time.Hour, func(r *v1alpha1.JobRun) { r.UID = "two"; r.Status.Fence = 2; end(r, "Succeeded", "", nil) })
	for fence, uid := range []string{"one", "two"} {
		text, err := json.Marshal(evidence.Run{
			Namespace: "shop", Workspace: "web", Name: fmt.Sprint("web-", fence+1), UID: uid, Created: time.Now().Add(-48 * time.Hour),
			State: v1alpha1.JobRunState{Input: &v1alpha1.JobInput{Action: "deploy"}, End: &v1alpha1.JobRunEnd{
				Phase: "Failed", Outcome: v1alpha1.OutcomeCommitted, Attempt: 1, Fence: int64(fence + 1),
			}},
		})
		require.NoError(t, err)
		require.NoError(t, j.store.Put(t.Context(), blob.Key{Workspace: "w", Fence: int64(fence + 1), Name: evidence.RunName}, bytes.NewReader(text)))
	}
	j.chunk(t, 1, "one\n")
	_, out, errs := j.call("", "runs", "web", "--past")
	assert.Equal(t, "RUN     WORKSPACE   ACTION   PHASE       ATTEMPTS   STATE       AGE   MESSAGE\n"+
		"web-2   web         deploy   Succeeded   1          Committed   60m   \n"+
		"web-1   web         deploy   Failed      1          Committed   2d    \n", out, errs)
	code, out, errs := j.call("", "logs", "web-1", "--workspace", "web")
	require.Zero(t, code, errs)
	assert.Equal(t, "one\n", out)
	code, _, errs = j.call("", "logs", "web-1")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "if the run is old, name its JobWorkspace with --workspace")
	code, _, errs = j.call("", "runs", "--past")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "name one JobWorkspace, or leave --past out")
}

// A value of --set that is not JSON as a whole is a text as a whole.
func TestSetTakesTheWholeValue(t *testing.T) {
	for text, want := range map[string]any{
		"3": json.Number("3"), "3]": "3]", "12}": "12}", `"a"]`: `"a"]`, "1 2": "1 2", "1.2.3": "1.2.3", `["a"]`: []any{"a"}, " 3 ": json.Number("3"),
	} {
		got, err := withParameters(nil, []string{"pin=" + text})
		require.NoError(t, err)
		assert.Equal(t, map[string]any{"pin": want}, got, text)
	}
}

// The last line of a log is printed on a terminal too, also one that has no end.
func TestLogIsWholeOnATerminal(t *testing.T) {
	const text = "one\npanic: no such region"
	j := newJobCluster(t)
	j.add("web-1", time.Minute, func(r *v1alpha1.JobRun) { r.Status.Fence = 1; end(r, "Failed", "", nil) })
	j.chunk(t, 1, text)
	target, err := (&jobOptions{clusterOptions{kubeconfig: j.args[3], namespace: "shop"}}).find("web-1")
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, (&jobLogsOptions{}).print(t.Context(), screen{out: &out, width: 80}, target))
	assert.Equal(t, text, out.String())
}

// What a program writes may not steer a terminal.
func TestShownLog(t *testing.T) {
	var out bytes.Buffer
	w := shownLog(screen{out: &out, width: 80})
	for _, part := range []string{"o", "ne\n\x1b[3", "1mé", "\n", "a\rb\n", strings.Repeat("x", mostRest+1)} {
		n, err := w.Write([]byte(part))
		require.NoError(t, err)
		assert.Equal(t, len(part), n)
	}
	assert.Equal(t, "one\n[31mé\nab\n"+strings.Repeat("x", mostRest+1), out.String())
}
