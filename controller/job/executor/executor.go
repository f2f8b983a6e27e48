package executor

import (
	"context"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
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
	Settings  Settings
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
}
