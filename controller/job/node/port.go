package node

import (
	"context"
	"errors"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

var (
	// ErrNone is wrapped where there is no such node.
	ErrNone = errors.New("there is no such RunNode")
	// ErrMoved is wrapped where a node has another version.
	ErrMoved = errors.New("the RunNode has changed")
)

// Nodes stores nodes.
type Nodes interface {
	// Get returns a node as it was a moment ago, or ErrNone; Stored the stored one itself, with its version.
	Get(ctx context.Context, name string) (node.Node, error)
	Stored(ctx context.Context, name string) (n node.Node, version string, err error)
	// List returns all nodes as they were a moment ago.
	List(ctx context.Context) ([]node.Node, error)
	// Identify stores what an agent is known by, if the node still has a version; else it returns ErrMoved.
	Identify(ctx context.Context, name, version string, i node.Identity) error
	// Show stores what a node shows.
	Show(ctx context.Context, name string, s Shown) error
}

// Shown holds values of the status of a node. Standing stays as it is where it is zero, and Call where its Seen is.
type Shown struct {
	Standing node.Standing
	node.Call
}

// Offers stores offers by their attempts.
type Offers interface {
	OfferReader
	OfferWriter
}

// OfferReader reads offers. An attempt is named by the UID of its Run and its number.
type OfferReader interface {
	// Get returns an offer as it was a moment ago, Stored the stored one itself; false for none.
	Get(ctx context.Context, n executor.Name) (OfferedAttempt, bool, error)
	Stored(ctx context.Context, n executor.Name) (OfferedAttempt, bool, error)
	// Of returns the offers of a node as they were a moment ago, List all of them as they are stored.
	Of(ctx context.Context, name string) ([]OfferedAttempt, error)
	List(ctx context.Context) ([]OfferedAttempt, error)
}

// OfferWriter writes offers.
type OfferWriter interface {
	// Make stores an offer. It changes nothing if there is one.
	Make(ctx context.Context, o OfferedAttempt) error
	// Change stores another value of an offer, if no other change came between.
	Change(ctx context.Context, o OfferedAttempt) error
	// Delete deletes an offer, if it is there.
	Delete(ctx context.Context, n executor.Name) error
}

// OfferedAttempt is an attempt that a node may carry out. Its input is that of the Run.
type OfferedAttempt struct {
	executor.Attempt
	node.Offer

	// Obstacle, Stopped and Over were reported by the node.
	Obstacle      string
	Stopped, Over bool
	// Version is that of the stored offer.
	Version string
}

// OfferedRuns finds Runs of offers, as they are stored.
type OfferedRuns interface {
	// Input returns the frozen input of a Run.
	Input(ctx context.Context, n executor.Name) (run.Input, error)
	// Identity returns the UID of its Workspace, and the Run.
	Identity(ctx context.Context, n executor.Name) (uid string, r workspace.Run, err error)
}

// AuthorityKeys has the keys of the authority.
type AuthorityKeys interface {
	// Read returns the certificate and the key by which certificates are signed, and further certificates to trust, in PEM.
	Read(ctx context.Context) (certificate, key, trusted []byte, err error)
}
