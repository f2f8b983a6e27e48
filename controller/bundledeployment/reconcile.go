// Package bundledeployment is the loop that keeps BundleDeployments: it has their sources fetched
// and rendered, plans, waits for approval, carries plans out, and undoes what others change, each
// deployment by its own account (BUNDLES.md).
//
// A reconcile does what can be done at once, five seconds at most, stores how far it has come, and
// returns when to look again. Any replica goes on from what is stored.
//
// What must not come in: a decision about objects, which are domain/bundle's, or a write
// to anything but Orcon's own kinds by the controller's own account.
package bundledeployment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/queue"
)

// Reconciler keeps BundleDeployments.
type Reconciler struct {
	// Client reads and writes Orcon's own kinds, from the cache where it has them.
	Client client.Client
	// Reader reads what was written a moment ago: a status is written as the difference
	// from what was there.
	Reader client.Reader
	// Connect returns the cluster as an account sees it, and what is stored of its deployment.
	Connect func(Access) (World, Store, error)
	// Contents fetches and renders what sources name.
	Contents *content.Isolated
	// Places bounds how much of that happens at a time.
	Places queue.Limits
	Events events.EventRecorder
	// Watches is nil where changes are found only by looking.
	Watches Watches
	// Identity tells this cluster from others.
	Identity string
	// Account is the controller's own ServiceAccount as namespace:name.
	Account string
	Now     func() time.Time
	// Resync is how often what is settled is looked at.
	Resync time.Duration
	// Pause is the least time between two looks; a second where it is 0.
	Pause time.Duration

	start sync.Once
	pool  *supply.Pool
	// enqueue has a deployment reconciled after a time; nil before Setup.
	enqueue  func(types.NamespacedName, time.Duration)
	memories memories
	looks    looks
}

// Reconcile does what can be done for one deployment within seconds.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	r.start.Do(func() {
		r.pool = supply.New(r.Places, func(name types.NamespacedName) {
			if r.enqueue != nil {
				r.enqueue(name, 0)
			}
		})
	})
	defer r.pool.Use(req.NamespacedName)()
	var d v1alpha1.BundleDeployment
	err := r.Reader.Get(ctx, req.NamespacedName, &d)
	switch {
	case apierrors.IsNotFound(err):
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("cannot read the deployment: %w", err)
	}
	deleting := !d.DeletionTimestamp.IsZero()
	if deleting && !controllerutil.ContainsFinalizer(&d, v1alpha1.Finalizer) {
		return reconcile.Result{}, nil
	}
	if before := d.DeepCopy(); !deleting && controllerutil.AddFinalizer(&d, v1alpha1.Finalizer) {
		if err := r.Client.Patch(ctx, &d, client.MergeFrom(before)); err != nil {
			return reconcile.Result{}, fmt.Errorf("cannot add the finalizer: %w", err)
		}
	}
	j, err := r.job(&d)
	if err != nil {
		return reconcile.Result{}, err
	}
	if deleting {
		return removal{j}.remove(ctx)
	}
	return j.keep(ctx)
}

// forget drops the memory of a deployment that is gone.
func (r *Reconciler) forget(name types.NamespacedName) {
	r.pool.Forget(name)
	r.memories.forget(name)
	r.unwatch(name)
}

// keep brings the wanted content about, keeps what is there, and publishes the state.
func (j *job) keep(ctx context.Context) (reconcile.Result, error) {
	var err error
	if j.engine.Gate, err = confined(ctx, j.Client, j.engine.Gate, j.deployment.Namespace); err != nil {
		return reconcile.Result{}, err
	}
	if stop := j.load(ctx); stop != nil {
		return j.stopped(ctx, stop)
	}
	if j.engine.Record().Last().Number == 0 { // of a record that is gone the revisions are too
		if err := (revisions{j}).publish(ctx); err != nil {
			return reconcile.Result{}, err
		}
	}
	stop, err := j.advance(ctx)
	if err != nil {
		return failing{j}.unstored(ctx, err)
	}
	if j.deployment.Spec.Paused {
		return j.stopped(ctx, stop)
	}
	if j.pending() {
		if j.standing.Next.All == 0 && j.Now().Sub(j.since) < j.Resync {
			return j.again(nil, nil), nil // nothing has changed, and what was published stays
		}
		stop = sourcing{j}.meanwhile()
	} else {
		j.memory.stop, j.memory.generation = stop, j.deployment.Generation
	}
	drifted := len(j.said.Status.Drift) > 0
	kept, err := j.correct(ctx, stop)
	if err != nil {
		return failing{j}.lasting(ctx, "ReadFailed", err)
	}
	j.memory.failing = time.Time{}
	result := j.again(stop, kept)
	// What was drifted for the first time is corrected by now: only a fight goes on.
	if kept != nil && len(kept.Drift) > 0 && !drifted && !j.standing.Reported {
		result = j.soon()
	}
	return result, j.publish(ctx)
}

// correct undoes what others have changed, or only notes it, deletes what left the bundle,
// and notes the state; nil where there is nothing to keep. Drift is published before it is
// undone: afterwards nothing shows it.
func (j *job) correct(ctx context.Context, stop *domain.Stop) (*bundle.Kept, error) {
	// A watch that begins after the look would miss changes between the two.
	j.standing.Unwatched = watched(j.Watches, j.deployment, j.engine.Record())
	kept, err := j.engine.Look(ctx)
	if err != nil {
		return nil, err
	}
	j.standing.Last, j.standing.Stop = j.engine.Record().Begun(), stop
	if kept == nil {
		return nil, nil //nolint:nilnil // there is nothing to keep
	}
	j.standing.Next, j.standing.Drift, j.standing.Every = kept.Next, kept.Drift, j.Resync
	j.standing.Reported = j.deployment.Spec.Drift.Mode == "Report"
	if len(kept.Drift) > 0 && len(j.said.Status.Drift) == 0 {
		if err := j.publish(ctx); err != nil {
			return nil, err
		}
	}
	if !j.standing.Reported {
		if err := kept.Correct(ctx); err != nil {
			return nil, err
		}
		j.corrected(kept)
	}
	err = kept.Settle(ctx)
	j.standing.Next = kept.Next
	return kept, err
}

// failing is a job that an error has ended.
type failing struct{ *job }

// unstored publishes that the account may not write the record, as that it may not read it, or else returns the error until
// it lasts.
func (f failing) unstored(ctx context.Context, err error) (reconcile.Result, error) {
	var status apierrors.APIStatus
	if apierrors.IsForbidden(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "secrets" {
		return f.stopped(ctx, &domain.Stop{Reason: forbidden, Message: f.refused(ctx, err), Person: true})
	}
	return f.lasting(ctx, "StoreFailed", err)
}

// lasting returns an error, so that what it has ended is tried again soon. Once errors last, the last one is published:
// what was published before is no longer known to be true.
func (f failing) lasting(ctx context.Context, reason string, err error) (reconcile.Result, error) {
	if f.memory.failing.IsZero() {
		f.memory.failing = f.Now()
	}
	if ctx.Err() != nil || errors.Is(err, cluster.ErrMoved) || f.Now().Sub(f.memory.failing) < f.Resync {
		return reconcile.Result{}, err
	}
	return f.stopped(ctx, &domain.Stop{Reason: reason, Message: err.Error()})
}

// stopped publishes why nothing is done.
func (j *job) stopped(ctx context.Context, stop *domain.Stop) (reconcile.Result, error) {
	j.standing.Last, j.standing.Stop = j.engine.Record().Begun(), stop
	return j.again(stop, nil), j.publish(ctx)
}

// advance goes as far towards the wanted content as it can, and returns what stops it.
func (j *job) advance(ctx context.Context) (*domain.Stop, error) {
	d := j.deployment
	if d.Spec.Paused {
		return &domain.Stop{Reason: "Paused", Message: fmt.Sprintf("paused by spec.paused: orcon resume %s -n %s", d.Name,
			d.Namespace), Person: true}, nil
	}
	if stop := invalid(j.wrong); stop != nil {
		return stop, nil
	}
	stop, err := j.awaitOthers(ctx)
	if err != nil {
		return nil, err
	}
	if stop == nil {
		var c contents
		if c, stop = (sourcing{j}).source(ctx); stop == nil && !j.pending() {
			return deploying{j, c}.deploy(ctx)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return j.meantime(ctx, stop)
}

// invalid returns the stop of a spec that is wrong in itself; nil where it is not.
func invalid(wrong error) *domain.Stop {
	if wrong == nil {
		return nil
	}
	return &domain.Stop{Reason: "InvalidSpec", Message: wrong.Error(), Person: true}
}

// meantime goes on with the run under way while something stops the wanted content, and returns
// what stops that, or else the run.
func (j *job) meantime(ctx context.Context, stop *domain.Stop) (*domain.Stop, error) {
	failed, err := j.run(ctx)
	if err != nil || stop != nil {
		return stop, err
	}
	return failed, nil
}
