package serve

import (
	"context"
	"crypto"
	"errors"
	"net/http"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

var (
	// ErrMoved is wrapped where a Workspace has another version.
	ErrMoved = errors.New("the workspace has changed")
	// ErrForbidden is wrapped where a caller's token is not good for a request.
	ErrForbidden = errors.New("the token is not good for this")
	// ErrKey is wrapped where the key of a RunNode is not.
	ErrKey = errors.New("the key of the RunNode is not good for this")
)

// Workspaces stores Workspaces by their UID.
type Workspaces interface {
	// Get returns the stored Workspace itself, not a cached copy.
	Get(ctx context.Context, uid string) (Stored, error)
	// Recent returns a copy at hand, which may be of an earlier version. Swap takes its version as long as the stored
	// Workspace has the same state.
	Recent(ctx context.Context, uid string) (Stored, error)
	// Swap stores the next value of one that still has a version; otherwise it returns ErrMoved. After another error it
	// may be stored or not.
	Swap(ctx context.Context, uid, version string, next workspace.Workspace) error
}

// Stored is a Workspace as it is stored.
type Stored struct {
	Version   string
	Workspace workspace.Workspace
}

// Runs finds Runs by their UID.
type Runs interface {
	// Get returns the stored Run itself, not a cached copy.
	Get(ctx context.Context, uid string) (Run, error)
	// Frozen returns a Run whose Cancel may be that of an earlier version. Nothing else of it ever changes.
	Frozen(ctx context.Context, uid string) (Run, error)
	// Report keeps what the template reported, before its end is recorded. The first report of a fence stays.
	Report(ctx context.Context, uid string, r Report) error
}

// Run holds what a keeper needs of a Run.
type Run struct {
	// Parameters is a JSON document; "" for none.
	Parameters string
	// Sensitive are the names of outputs that people must not read, Secrets its files of secrets.
	Sensitive []string
	Secrets   []run.SecretFile
	// RestoreLogs has the log files of the last run restored.
	RestoreLogs bool
	// Namespace is that of the Run, and Content the digest of the content that is copied to /work; "" for none.
	Namespace, Content string
	// Plans is the digest of its input if it may leave a plan, Plan that of the plan that it applies; "" for none.
	Plans, Plan string
	// Cancel is set by a cancel or a timeout, and never taken back.
	Cancel bool
}

// Report has the outputs of a template, and the reason for a bad outcome.
type Report struct {
	Fence int64
	// Outputs is a JSON document; "" for none. It has the names of sensitive outputs, and Sensitive has their values.
	Outputs   string
	Sensitive []contract.Output
	// Message explains a bad outcome; "" for a good one.
	Message string
}

// Renewals receives signs of life.
type Renewals interface {
	Renewed(ctx context.Context, r Renewal) error
}

// Renewal is one sign of life of a claimant, for job.Watch. Number 0 is that of a keeper whose claim has failed.
type Renewal struct {
	Run           string
	Fence, Number int64
	At            time.Time
	// Delay is what its keeper has to try again.
	Delay job.Delay
}

// Callers finds out who sends a request.
type Callers interface {
	// Identify returns ErrForbidden for a token that is not valid, and ErrKey for such a key.
	Identify(r *http.Request) (Caller, error)
}

// Caller is the keeper of one attempt of one Run. It may do nothing for others.
type Caller struct {
	// Workspace is its UID.
	Workspace string
	Run       workspace.Run
	Claimant  workspace.Claimant
	// Key is that of a node; nil for a pod.
	Key crypto.PublicKey
}
