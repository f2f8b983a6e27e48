// Package bundledeployment is the loop that keeps BundleDeployments: it fetches and
// renders what is wanted, plans, waits for approval, carries out, and puts right what
// others change, each deployment by its own account (BUNDLES.md).
//
// One deployment's turn lasts as long as its revision is under way. A new generation
// interrupts it: whatever was done stands, and what is wanted now goes on from there, as
// after a kill.
//
// What must not come in: a decision about objects, which are domain/bundle's, or a write
// to anything but Orcon's own kinds by the controller's own account.
package bundledeployment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Finalizer keeps a BundleDeployment until all that it made is deleted.
const Finalizer = "orcon.tengu.io/bundle"

const (
	// soon is after how long an unhealthy deployment is looked at again.
	soon = 10 * time.Second
	// later is after how long a source that failed is fetched again.
	later = 30 * time.Second
)

// Reconciler keeps BundleDeployments.
type Reconciler struct {
	// Client reads and writes Orcon's own kinds, from the cache where it has them.
	Client client.Client
	// Reader reads what was written a moment ago: a status is written as the difference
	// from what was there.
	Reader client.Reader
	// Config is how to reach the API server; each deployment's account is impersonated.
	Config *rest.Config
	// Mapper knows the kinds of the cluster.
	Mapper meta.RESTMapper
	// Fetcher fetches what is not in the cluster.
	Fetcher content.Fetcher
	Events  events.EventRecorder
	// Identity tells this cluster from others.
	Identity string
	Now      func() time.Time
	// Resync is how often what is settled is looked at.
	Resync time.Duration
	// Pause is between two looks at what is under way; a second where it is 0.
	Pause time.Duration

	runs     runs
	rendered rendered
	// published is what the BundleRevisions say.
	published published
}

// Reconcile gives one deployment its turn.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var d v1alpha1.BundleDeployment
	if err := r.Reader.Get(ctx, req.NamespacedName, &d); err != nil {
		r.rendered.forget(req.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	ctx, end := r.runs.begin(ctx, &d)
	defer end()
	result, err := r.turn(ctx, &d)
	if errors.Is(context.Cause(ctx), errInterrupted) {
		return reconcile.Result{}, nil // the change that interrupted it is in the queue
	}
	return result, err
}

func (r *Reconciler) turn(ctx context.Context, d *v1alpha1.BundleDeployment) (reconcile.Result, error) {
	deleting := !d.DeletionTimestamp.IsZero()
	if deleting && !controllerutil.ContainsFinalizer(d, Finalizer) {
		return reconcile.Result{}, nil
	}
	if before := d.DeepCopy(); !deleting && controllerutil.AddFinalizer(d, Finalizer) {
		if err := r.Client.Patch(ctx, d, client.MergeFrom(before)); err != nil {
			return reconcile.Result{}, fmt.Errorf("cannot add the finalizer: %w", err)
		}
	}
	j, err := r.job(d)
	if err != nil {
		return reconcile.Result{}, err
	}
	if deleting {
		return j.remove(ctx)
	}
	return j.keep(ctx)
}

// keep brings what is wanted about, keeps what is there, and says how it stands.
func (j *job) keep(ctx context.Context) (reconcile.Result, error) {
	if stop := j.load(ctx); stop != nil {
		return j.stopped(ctx, stop)
	}
	if j.engine.Record().Last().Number == 0 { // of a record that is gone the revisions are too
		if err := j.publishRevisions(ctx); err != nil {
			return reconcile.Result{}, err
		}
	}
	stop, err := j.advance(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if j.deployment.Spec.Paused {
		return j.stopped(ctx, stop)
	}
	drifted := len(j.said.Status.Drift) > 0
	kept, err := j.correct(ctx, stop)
	if err != nil {
		return reconcile.Result{}, err
	}
	if kept == nil {
		return j.after(stop, false), j.publish(ctx)
	}
	result := j.after(stop, kept.Outcome != domain.Succeeded || len(kept.Pruned.Waits) > 0)
	// What was drifted for the first time is corrected by now: only a fight goes on.
	fresh := len(kept.Drift) > 0 && !drifted && !j.standing.Reported
	if fresh || len(kept.Pruned.Delete)+len(kept.Pruned.Gone) > 0 { // then more can go
		result.RequeueAfter = cmp.Or(j.Pause, time.Second)
	}
	return result, j.publish(ctx)
}

// correct undoes what others have changed, or only notes it, deletes what left the bundle,
// and notes the state; nil where there is nothing to keep. Drift is published before it is
// undone: afterwards nothing shows it.
func (j *job) correct(ctx context.Context, stop *domain.Stop) (*bundle.Kept, error) {
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
		kept.Correct(ctx)
		j.corrected(kept)
	}
	err = kept.Settle(ctx)
	j.standing.Next = kept.Next
	return kept, err
}

// stopped says why nothing is done, and when it is looked at again.
func (j *job) stopped(ctx context.Context, stop *domain.Stop) (reconcile.Result, error) {
	j.standing.Last, j.standing.Stop = j.engine.Record().Begun(), stop
	return j.after(stop, false), j.publish(ctx)
}

// after is when the deployment is looked at again if nothing happens before.
func (j *job) after(stop *domain.Stop, sick bool) reconcile.Result {
	switch {
	case sick:
		return reconcile.Result{RequeueAfter: soon}
	case stop != nil && (!stop.Person || stop.Reason == forbidden): // nobody tells of new rights
		return reconcile.Result{RequeueAfter: later}
	}
	return reconcile.Result{RequeueAfter: j.Resync}
}

// advance goes as far towards what is wanted as it can, and says what stops it.
func (j *job) advance(ctx context.Context) (*domain.Stop, error) {
	d := j.deployment
	if d.Spec.Paused {
		return &domain.Stop{Reason: "Paused", Message: fmt.Sprintf("paused by spec.paused: orcon resume %s -n %s", d.Name,
			d.Namespace), Person: true}, nil
	}
	if stop := invalid(j.prepare()); stop != nil {
		return stop, nil
	}
	if stop, err := j.awaitOthers(ctx); stop != nil || err != nil {
		return stop, err
	}
	wanted, stop := j.source(ctx)
	if stop != nil {
		return stop, ctx.Err()
	}
	return j.carryOut(ctx, wanted)
}

// invalid says that what is wanted is wrong in itself; nil where it is not.
func invalid(wrong error) *domain.Stop {
	if wrong == nil {
		return nil
	}
	return &domain.Stop{Reason: "InvalidSpec", Message: wrong.Error(), Person: true}
}
