package bundledeployment

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// errInterrupted ends a turn because something else is wanted by now.
var errInterrupted = errors.New("the BundleDeployment has changed meanwhile")

// runs are the turns that are under way.
type runs struct {
	mu       sync.Mutex
	underWay map[types.UID]run
}

// run is one turn: what was wanted when it began, and how to interrupt it.
type run struct {
	generation int64
	deleting   bool
	interrupt  context.CancelCauseFunc
}

// begin notes a turn; end forgets it.
func (r *runs) begin(ctx context.Context, d *v1alpha1.BundleDeployment) (turn context.Context, end func()) {
	turn, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.underWay == nil {
		r.underWay = map[types.UID]run{}
	}
	r.underWay[d.UID] = run{generation: d.Generation, deleting: !d.DeletionTimestamp.IsZero(), interrupt: cancel}
	return turn, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.underWay, d.UID)
		cancel(nil)
	}
}

// changed interrupts the turn of a deployment of which something else is wanted by now.
func (r *runs) changed(d *v1alpha1.BundleDeployment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run, underWay := r.underWay[d.UID]
	if underWay && (run.generation != d.Generation || run.deleting == d.DeletionTimestamp.IsZero()) {
		run.interrupt(errInterrupted)
	}
}
