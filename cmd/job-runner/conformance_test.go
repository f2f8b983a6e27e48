package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/selftest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/test/conformance/api"
)

// processes carries out runs as processes of this machine.
type processes struct {
	*bench

	t    *testing.T
	runs atomic.Int64
}

// Run implements selftest.Conductor.
func (e *processes) Run(ctx context.Context, o selftest.Exercise) (selftest.Result, error) {
	number := e.runs.Add(1)
	uid := fmt.Sprint("w", number)
	p, err := e.folders(uid, fmt.Sprint("r", number))
	if err != nil {
		return selftest.Result{}, err
	}
	timing := job.Timing{Lost: time.Minute, Grace: selftest.Grace}
	input := serve.Run{Parameters: selftest.Parameters}
	if err := e.Admit(uid, p.run, "pod-"+p.run, timing, input); err != nil {
		return selftest.Result{}, err
	}
	k := p.keeper(ctx, e.t)
	program := cmp.Or(o.Program, os.Args[0])
	args := []string{"shim", "--exchange", p.path("exchange"), "--work", p.path("work"), "--", program}
	s := p.startWith(ctx, e.t, p.environment(), append(args, o.Args...)...)
	container := api.Container{Run: p.run, State: p.path("state"), Exchange: exchange.Folder(p.path("exchange")), Kill: s.Process.Kill}
	if err := e.Inflict(ctx, o.Fault, container); err != nil {
		return selftest.Result{}, err
	}
	if code := s.code(); code >= 0 && code != e.Workspace(uid).Last.Exit.Code {
		return selftest.Result{}, fmt.Errorf("the shim ended with %d, and another code is recorded", code)
	}
	if code := k.code(); code != 0 {
		return selftest.Result{}, fmt.Errorf("the keeper ended with %d", code)
	}
	return e.Result(ctx, uid)
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
	delete(folders, contract.Secrets) // there are none
	for _, own := range folders {
		_ = os.MkdirAll(p.path(own), 0o700) // a run finds it missing
	}
	return append(all, template+"=1")
}

// JOBS.md J7, J9, J11 and J15: runs as processes are carried out as the contract promises, apart from what only a
// container has: its user, its root, its paths, its mounts, and a loopback of its own for Terraform's state.
func TestConformance(t *testing.T) {
	got, err := selftest.Drive(t.Context(), &processes{bench: newBench(t), t: t})
	require.NoError(t, err)
	var differences []string
	for _, d := range conformance.Differences(conformance.Golden(), got) {
		differences = append(differences, d.Check)
	}
	assert.ElementsMatch(t, []string{
		"user", "root", "privileges", "working directory", "variable HOME", "variable TMPDIR", "variable ORCON_STATE", "variable ORCON_PARAMETERS",
		"variable ORCON_OUTPUTS", "variable ORCON_LOGS", "variable ORCON_SECRETS", "mounts", "state over HTTP", "state over HTTP comes back",
	}, differences)
}
