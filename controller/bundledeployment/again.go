package bundledeployment

import (
	"cmp"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

const (
	// unhealthy is after how long an unhealthy deployment is looked at again.
	unhealthy = 10 * time.Second
	// failed is after how long is tried again what failed and may succeed by itself.
	failed = 30 * time.Second
	// fresh is for how long a deletion or a fetch is looked at after each pause.
	fresh = time.Minute
	// waiting is the priority of deployments that wait: those that can do something come first.
	waiting = -1
)

// again returns when the deployment is looked at again if nothing happens before.
func (j *job) again(stop *domain.Stop, kept *bundle.Kept) reconcile.Result {
	after, priority := j.Resync, 0
	switch {
	case stop != nil && (!stop.Person || stop.Reason == forbidden): // new permissions are not reported
		after = failed
	case stop == nil && j.more, kept != nil && len(kept.Pruned.Delete)+len(kept.Pruned.Gone) > 0 && len(kept.Pruned.Waits) == 0:
		return j.soon()
	}
	if kept != nil && (kept.Outcome != domain.Succeeded || len(kept.Pruned.Waits) > 0) {
		after = min(after, unhealthy)
	}
	if j.engine.Unfinished() {
		pace := domain.Pace{Now: j.Now(), Deadline: j.engine.Patience}
		after, priority = min(after, j.step.Again(pace, j.pause())), waiting
	}
	if j.pending() {
		after = min(after, j.while(j.since)) // the pool enqueues it before, on the leader
	}
	return reconcile.Result{RequeueAfter: after, Priority: &priority}
}

// soon is when more can be done at once.
func (j *job) soon() reconcile.Result {
	return reconcile.Result{RequeueAfter: j.pause(), Priority: new(int)}
}

// while returns the pause while something is under way: longer where it lasts.
func (j *job) while(since time.Time) time.Duration {
	if j.Now().Sub(since) < fresh {
		return j.pause()
	}
	return unhealthy
}

func (r *Reconciler) pause() time.Duration { return cmp.Or(r.Pause, time.Second) }
