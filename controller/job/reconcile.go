package job

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// Reconciler keeps JobWorkspaces and their JobRuns.
type Reconciler struct {
	// Client reads and writes Orcon's own kinds, from the cache where it has them.
	Client client.Client
	// Reader reads what was written a moment ago, namespaces, and the definition of JobWorkspaces.
	Reader   client.Reader
	Executor executor.Executor
	// Store holds the states.
	Store blob.Store
	Signs Signs
	// Ready returns why states cannot be stored, as without a key to encrypt them; nil for always.
	Ready func(ctx context.Context) error
	// Events may be nil.
	Events events.EventRecorder
	Now    func() time.Time
	// Clock returns the time since the process started: it never goes back.
	Clock func() time.Duration
	// ClaimWait is how long the claim of a Run that was admitted is waited for, before a status shows that there is none; 0 for
	// not at all.
	ClaimWait time.Duration
	// Most bounds how many Runs hold a lock at the same time.
	Most run.Most
	// Variables are those of each run, unless its template has others of their names.
	Variables map[string]string
	// Home is the namespace that Orcon runs in; if it is deleted, nothing is destroyed. "" for none.
	Home string
	// Sources have further requests, such as those for what executors have made.
	Sources []source.Source

	memories memories
}

// DefaultClaimWait is the default of ClaimWait. Most keepers that are processes claim sooner.
const DefaultClaimWait = 100 * time.Millisecond

const (
	// soon is after how long a write is repeated that met another one.
	soon = 100 * time.Millisecond
	// poll is how often an attempt is looked at.
	poll = 5 * time.Second
	// rarely is how often orphans are looked at that no person decides about.
	rarely = 12 * time.Hour
)

// Reconcile does what can be done for one Workspace within seconds.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	l, err := r.observe(ctx, req.NamespacedName)
	if err == nil {
		err = l.step(ctx)
	}
	switch {
	case apierrors.IsConflict(err), errors.Is(err, errBehind):
		return reconcile.Result{RequeueAfter: soon}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: l.again}, nil
}

// errBehind means that the cache is behind the API server.
var errBehind = errors.New("the cache is behind")

// step does what is due. What the executor or the store cannot do holds nothing back but what needs it.
func (l *look) step(ctx context.Context) error {
	if err := (forsaking{l}).forsake(ctx); err != nil || l.o == nil {
		return err
	}
	if l.unreadable != nil {
		return publication{l}.publishUnreadable(ctx)
	}
	if l.o.DeletionTimestamp.IsZero() {
		if err := (freezing{l}).keep(ctx); err != nil {
			return err
		}
	} else if gone, err := (leaving{l}).leave(ctx); gone || err != nil {
		return err
	}
	for _, do := range []func(context.Context) error{
		checking{l}.check, freezing{l}.freeze, freezing{l}.limit, ending{l}.end, holding{l}.hold, admission{l}.admit,
		admission{l}.forget, ending{l}.clear,
		publication{l}.publish, relating{l}.relate, retaining{l}.prune,
	} {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return errors.Join(l.failed...)
}

// patch writes what has changed of an object, if no other write came first.
func (l *look) patch(ctx context.Context, o, before client.Object) error {
	return l.Client.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// within has the Workspace looked at again after a time at the latest.
func (l *look) within(after time.Duration) {
	after = max(after, soon)
	if l.again == 0 || after < l.again {
		l.again = after
	}
}

// fail notes an error of the executor or of the store.
func (l *look) fail(err error) {
	if err != nil {
		l.failed = append(l.failed, err)
	}
}
