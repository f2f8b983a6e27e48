package executor

import (
	"context"
	"maps"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// Executor carries out attempts of Runs. Its methods return within seconds, and may be repeated.
type Executor interface {
	// Start makes what carries out an attempt. It changes nothing if that exists.
	Start(ctx context.Context, a Attempt) error
	// Look returns what exists of an attempt.
	Look(ctx context.Context, n Name) (Sight, error)
	// Remove deletes what exists of an attempt. Its process is stopped as by a cancel.
	Remove(ctx context.Context, n Name) error
}

// Name identifies an attempt.
type Name struct {
	// Namespace and Run are those of the JobRun, UID is its UID.
	Namespace, Run, UID string
	// Number counts the attempts of a Run, from 1.
	Number int
}

// Attempt describes what is to be carried out.
type Attempt struct {
	Name
	// Workspace is the name of the JobWorkspace.
	Workspace string
	Fence     int64
	Input     run.Input
	Timing    job.Timing
	// Hold is how long the container is kept if the process fails; 0 for not at all.
	Hold     time.Duration
	Settings Settings
	// Variables are those of each run of this installation.
	Variables map[string]string
}

// Environment returns the variables of the process by name: those of the installation, those of the frozen input, which
// replace them, and those of the contract, which replace both. The number of the state's generation comes with the claim.
func (a Attempt) Environment() map[string]string {
	all := map[string]string{}
	maps.Copy(all, a.Variables)
	maps.Copy(all, a.Input.Env)
	for _, one := range contract.Environment(contract.Run{
		Namespace: a.Namespace, Workspace: a.Workspace, Name: a.Run, Action: a.Input.Action, Type: string(a.Input.Type), Attempt: a.Number,
		Plans: a.Input.Plans(), Applies: a.Input.Plan != "",
	}) {
		name, value, _ := strings.Cut(one, "=")
		all[name] = value
	}
	delete(all, contract.VariableGeneration)
	return all
}

// Settings are the settings of a keeper; zero values are its defaults.
type Settings struct {
	// Limit is how many bytes the archive of the state may have.
	Limit int64
	// Checkpoint is the time between checkpoints.
	Checkpoint time.Duration
}

// Sight describes what exists of an attempt.
type Sight struct {
	run.Pod
	// Claimant identifies the claimant of the attempt: the UID of its pod, or the name of its node; "" before it is
	// known.
	Claimant string
	// Over reports that neither process nor keeper exists any more, and none will come.
	Over bool
	// Silent reports that what should carry it out does not answer: an attempt that has not claimed is given to another.
	Silent bool
}
