package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/logs"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
	"gitlab.ilabt.imec.be/tengu/orcon/test/conformance"
)

// processes carries out runs as processes of this machine.
type processes struct {
	*bench

	t    *testing.T
	runs int
}

// Run implements conformance.Executor.
func (e *processes) Run(ctx context.Context, o conformance.Order) (conformance.Result, error) {
	e.runs++
	uid := fmt.Sprint("w", e.runs)
	p := e.newPod(e.t, uid, fmt.Sprint("r", e.runs))
	require.NoError(e.t, e.Change(uid, func(w workspace.Workspace) (workspace.Workspace, error) {
		w.Lock.Timing.Grace = conformance.Grace
		return w, nil
	}))
	run := serve.Run{Parameters: conformance.Parameters, Environment: p.environment()}
	caller := serve.Caller{Workspace: uid, Run: workspace.Run{UID: p.run, Name: p.run}, Claimant: workspace.Claimant{ID: "pod-" + p.run}}
	e.Add(p.run, caller, run)
	k := p.keeper(ctx, e.t)
	program := os.Args[0]
	if o.Program != "" {
		program = o.Program
	}
	s := p.start(ctx, e.t, append([]string{"shim", "--exchange", p.path("exchange"), "--work", p.path("work"), "--", program}, o.Args...)...)
	if o.Cancel {
		require.NoError(e.t, wait(ctx, func() bool { return p.there("state/ready") }))
		run.Cancel = true
		e.Add(p.run, caller, run)
	}
	code := s.code()
	require.Zero(e.t, k.code(), "%v", o.Args)
	w := e.Workspace(uid)
	r := conformance.Result{Code: code, Outcome: w.Last.Outcome, Killed: w.Last.Exit.Cause == job.Killed, Outputs: e.ReportOf(p.run).Outputs}
	r.State = e.files(w)
	r.Logs, r.Whole = e.logs(uid)
	return r, nil
}

// environment returns the variables of a run, with the folders of a pod.
func (p *pod) environment() []string {
	folders := map[string]string{
		contract.State: "state", contract.Logs: "logs", contract.Secrets: "secrets", contract.Home: "home", contract.Temporary: "tmp",
	}
	var all []string
	for _, one := range contract.Environment(contract.Run{Namespace: "ns", Workspace: p.workspace, Name: p.run, Action: "check", Attempt: 1}) {
		name, value, _ := strings.Cut(one, "=")
		for folder, own := range folders {
			if rest, below := strings.CutPrefix(value, folder); below {
				value = p.path(own) + rest
				break
			}
		}
		all = append(all, name+"="+value)
	}
	for _, own := range folders {
		_ = os.MkdirAll(p.path(own), 0o700) // a run finds it missing
	}
	return append(all, template+"=1")
}

// files returns the files of the state of a Workspace.
func (e *processes) files(w workspace.Workspace) map[string]string {
	all := map[string]string{}
	if w.State.Key == "" {
		return all
	}
	folder := e.restored(e.t, w.State.Blob)
	entries, err := os.ReadDir(folder)
	require.NoError(e.t, err)
	for _, one := range entries {
		text, err := os.ReadFile(filepath.Join(folder, one.Name()))
		require.NoError(e.t, err)
		all[one.Name()] = string(text)
	}
	return all
}

// logs returns the logs of a run, and whether they are whole.
func (e *processes) logs(uid string) (map[string]string, bool) {
	all, whole, run := map[string]string{}, true, logs.Attempt{Workspace: uid, Fence: 1}
	names, err := logs.List(e.t.Context(), e.store, run)
	require.NoError(e.t, err)
	for _, name := range names {
		r, err := logs.NewReader(e.store, run, name)
		require.NoError(e.t, err)
		var text strings.Builder
		for piece, err := range r.Pieces(e.t.Context()) {
			require.NoError(e.t, err)
			text.Write(piece.Content)
		}
		all[name] = text.String()
		whole = whole && r.Ended() && len(r.Holes()) == 0
	}
	return all, whole
}

// JOBS.md J7, J9, J11 and J15: runs as processes are carried out as the contract promises, apart from what only a
// container has: its user, its root, its paths and its limits.
func TestConformance(t *testing.T) {
	golden, err := os.ReadFile("../../test/conformance/testdata/report.json")
	require.NoError(t, err)
	want, err := conformance.Parse(golden)
	require.NoError(t, err)
	got, err := conformance.Drive(t.Context(), &processes{bench: newBench(t), t: t})
	require.NoError(t, err)
	differences := conformance.Differences(want, got,
		"user", "root", "privileges", "working directory", "variable HOME", "variable TMPDIR", "variable ORCON_STATE", "variable ORCON_PARAMETERS",
		"variable ORCON_OUTPUTS", "variable ORCON_LOGS", "variable ORCON_SECRETS")
	assert.Empty(t, differences)
}
