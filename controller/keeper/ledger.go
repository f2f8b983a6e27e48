package keeper

import (
	"context"
	"errors"
	"io"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

var (
	// ErrStale is wrapped where the hold has gone to another fence. It is final.
	ErrStale = errors.New("another run holds the workspace")
	// ErrConflict is wrapped where another claimant has the run. It is final.
	ErrConflict = errors.New("another keeper has claimed the run")
	// ErrRefused is wrapped where a call fits no rule, and fails each time. It is final.
	ErrRefused = errors.New("the call is refused")
)

// Ledger is the one truth about the workspace. Each call may be repeated with the same result. Errors other than
// ErrStale, ErrConflict and ErrRefused are passing.
type Ledger interface {
	// Claim records who starts the run, before it is started.
	Claim(ctx context.Context, c Claimant) (Hold, error)
	// Renew proves that the holder lives, and tells what it has to try again.
	Renew(ctx context.Context, h Holder, d job.Delay) (Renewal, error)
	// Checkpoint records a state that is stored, but no generation.
	Checkpoint(ctx context.Context, h Holder, c Checkpoint) error
	// End records what became of the state, and releases the hold.
	End(ctx context.Context, h Holder, e End) error
}

// Blobs stores what the holder's fence writes, and has what is restored.
type Blobs interface {
	Put(ctx context.Context, key blob.Key, content io.ReadSeeker) error
	Get(ctx context.Context, key blob.Key) (io.ReadCloser, error)
	// Below lists blobs of a fence by the beginning of their names, sorted.
	Below(ctx context.Context, workspace string, fence int64, prefix string) ([]blob.Info, error)
}

// ContentSource has the content of the run, which is copied into the working directory.
type ContentSource interface {
	// Content returns it, packed by tar.
	Content(ctx context.Context) (io.ReadCloser, error)
}

// Claimant is one start of a run.
type Claimant struct {
	// Run is the UID of the Run.
	Run     string
	Attempt int
	// Place is the UID of the pod, or the name of the node.
	Place string
}

// Holder is a claimant with its fence.
type Holder struct {
	Claimant

	Fence int64
}

// Hold is granted to a claimant by the ledger.
type Hold struct {
	// Workspace is its UID.
	Workspace string
	Fence     int64
	// Sequence is that of the last checkpoint under this fence: 0 for none.
	Sequence int64
	// Generation is the number of the state to restore, Base is the state; nil for an empty one.
	Generation int64
	Base       *State
	// Parameters is the document that the template finds: JSON, "" for none.
	Parameters string
	// Environment is passed to the template.
	Environment []string
	// LogsFence is that of the run whose log files are restored; 0 for none.
	LogsFence int64
	// Content is the digest of the content that is copied into the working directory; "" for none.
	Content string
	Plans   Plans
	// Exclusive runs go on where their renewals are not acknowledged: they are never taken over because time passed.
	Exclusive bool
	// Lost is how long after its last acknowledged renewal a run that is not exclusive is stopped.
	Lost time.Duration
	// Grace is the time between SIGTERM and SIGKILL.
	Grace time.Duration
}

// Plans tell which part a run has in a plan.
type Plans struct {
	// Apply is the plan that the template applies; nil for none.
	Apply *State
	// Leave reports that the template may leave a plan.
	Leave bool
}

// State is a stored state.
type State struct {
	// Digest is that of the plain archive, Blob is where the archive is.
	Digest string
	Blob   blob.Key
	// Size is the size of the plain archive in bytes; that of a state to restore is an upper bound.
	Size int64
}

// Renewal is the answer to a renewal.
type Renewal struct {
	// Cancel has the run stopped. It is never taken back.
	Cancel bool
}

// Checkpoint is a stored state of a run that goes on.
type Checkpoint struct {
	// Sequence rises by one with each checkpoint of a fence.
	Sequence int64
	State    State
	// Torn reports that the template wrote while the state was captured.
	Torn bool
}

// End is the end of a hold.
type End struct {
	Outcome job.Outcome
	// Base is the generation that was restored.
	Base int64
	// State is set where one is stored.
	State *State
	// Plan is set where the template left a plan.
	Plan *State
	// Process is how the template ended.
	Process exchange.Ended
	// Outputs are those that the template wrote: JSON, "" for none.
	Outputs string
	// Message says why the outcome is not better; "" otherwise.
	Message string
}
