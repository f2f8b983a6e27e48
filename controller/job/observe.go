package job

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/templates"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// look is one reconcile of a Workspace.
type look struct {
	*Reconciler

	name types.NamespacedName
	// o is the Workspace as it is stored; nil if there is none. w is its state.
	o *v1alpha1.JobWorkspace
	w workspace.Workspace
	// unreadable is why the state cannot be read; nothing is written then but the status.
	unreadable error
	runs       []*execution
	// forsaken are Runs of a Workspace that is gone.
	forsaken []*execution
	memory   *knowledge
	// obstacle tells why no Run can be admitted; "" for no reason.
	obstacle string
	farewell *farewell
	failed   []error
	again    time.Duration
}

// execution is a Run.
type execution struct {
	*v1alpha1.JobRun

	// published is its end; the zero value before.
	published run.Status
	// decided is its status, if that does not follow from the Workspace.
	decided run.Status
	pod     run.Pod
	// delay is what its keeper has to try again.
	delay job.Delay
	// drains reports that the rest of its output is not yet stored.
	drains bool
	// written reports that this look has written it, so that the API server had no other version.
	written bool
}

// ended reports whether the end of the Run is stored.
func (e *execution) ended() bool { return e.published.Ended() }

// frozen reports whether the Run has its input.
func (e *execution) frozen() bool { return e.State != nil && e.State.Input != nil }

// problem returns what was wrong with the end of a hold, as its keeper reported it; "" if that is not known.
func (e *execution) problem(fence int64) string {
	if e.State == nil || e.State.Report == nil || e.State.Report.Fence != fence {
		return ""
	}
	return e.State.Report.Message
}

// observe reads a Workspace and its Runs.
func (r *Reconciler) observe(ctx context.Context, name types.NamespacedName) (*look, error) {
	l := &look{Reconciler: r, name: name}
	o := &v1alpha1.JobWorkspace{}
	switch err := r.Client.Get(ctx, name, o); {
	case apierrors.IsNotFound(err):
		r.memories.forget(name)
	case err != nil:
		return nil, fmt.Errorf("cannot read the JobWorkspace: %w", err)
	default:
		l.o, l.memory = o, r.memories.of(name, o.UID)
	}
	if err := l.observeRuns(ctx); err != nil || l.o == nil {
		return l, err
	}
	program, err := templates.Find(ctx, r.Client, l.o) // without one, the Workspace is exclusive
	if errors.Is(err, templates.ErrUnread) {
		return nil, err
	}
	l.w, l.unreadable = convert.ToWorkspace(l.o, program.Safety())
	l.memory.learn(l.reach())
	return l, nil
}

// observeRuns reads the Runs that name the Workspace, in order of their names.
func (l *look) observeRuns(ctx context.Context) error {
	var list v1alpha1.JobRunList
	if err := l.Client.List(ctx, &list, client.InNamespace(l.name.Namespace), client.MatchingFields{byWorkspace: l.name.Name}); err != nil {
		return fmt.Errorf("cannot list the JobRuns: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.JobRun) int { return strings.Compare(a.Name, b.Name) })
	for i := range list.Items {
		e := &execution{JobRun: &list.Items[i]}
		var err error
		if e.published, err = convert.ToPublished(e.JobRun); err != nil {
			l.fail(fmt.Errorf("cannot read JobRun %s: %w", e.Name, err))
			continue
		}
		if owner := convert.OwnerOf(e.JobRun).UID; l.o == nil || owner != "" && owner != l.o.UID {
			l.forsaken = append(l.forsaken, e)
			continue
		}
		l.runs = append(l.runs, e)
	}
	return nil
}

// reach returns how far the Workspace and its Runs reach.
func (l *look) reach() workspace.Extent {
	e := workspace.Extent{Fence: l.w.Fence, Generation: l.w.State.Number}
	for _, r := range l.runs {
		e.Fence = max(e.Fence, r.published.Fence, r.Status.Fence)
	}
	return e
}

// learn widens the extent that is known.
func (m *knowledge) learn(e workspace.Extent) {
	m.extent = workspace.Extent{
		Fence: max(m.extent.Fence, e.Fence), Generation: max(m.extent.Generation, e.Generation), Left: max(m.extent.Left, e.Left),
	}
}

// extent returns how far the store reaches. It is listed once: after that, all that comes into it is in the Workspace
// too. One that goes back, as after a restore, is then behind what is known.
func (l *look) extent(ctx context.Context) (workspace.Extent, error) {
	if !l.memory.listed {
		e, err := evidence.Extent(ctx, l.Store, string(l.o.UID), l.w)
		if err != nil {
			return l.memory.extent, fmt.Errorf("cannot list the store of states: %w", err)
		}
		l.memory.learn(e)
		l.memory.listed = true
	}
	return l.memory.extent, nil
}

// find returns a Run by its UID; nil for none.
func (l *look) find(r workspace.Run) *execution {
	for _, e := range l.runs {
		if string(e.UID) == r.UID {
			return e
		}
	}
	return nil
}

// status returns what a Run shows.
func (l *look) status(e *execution) run.Status {
	if !e.ended() && e.decided.Phase != "" {
		return e.decided
	}
	fence := l.w.Lock.Fence
	if l.w.Last.Run == convert.ToRun(e.JobRun) {
		fence = l.w.Last.Fence
	}
	return run.Derive(run.Facts{
		Run: convert.ToRun(e.JobRun), Published: e.published, Cancelled: convert.Cancelled(e.JobRun), TimedOut: convert.TimedOut(e.JobRun),
		Pod: e.pod, Problem: e.problem(fence), Delay: e.delay, Extent: l.memory.extent, Obstacle: l.obstacle,
	}, l.w)
}

// queue returns the places of the Runs that wait.
func (l *look) queue() []run.Rank {
	var waiting []run.Waiting
	for _, e := range l.runs {
		if r, waits := convert.ToWaiting(e.JobRun); waits && (e.frozen() || r.Cancelled) {
			waiting = append(waiting, r)
		}
	}
	return run.Queue(convert.ToConcurrency(l.o.Spec), l.w, waiting)
}

// isDestroy reports whether a Run destroys what the Workspace made, for its deletion.
func (l *look) isDestroy(o *v1alpha1.JobRun) bool {
	return o.Labels[v1alpha1.DestroyLabel] == l.o.Name ||
		o.Spec.Action == run.Destroy && !o.CreationTimestamp.Before(l.o.DeletionTimestamp)
}

// attempt names an attempt of a Run.
func (l *look) attempt(r workspace.Run, number int) executor.Name {
	return executor.Name{Namespace: l.name.Namespace, Run: r.Name, UID: r.UID, Number: number}
}

// write stores the next value of the Workspace, if no other write came first.
func (l *look) write(ctx context.Context, next workspace.Workspace, what string) error {
	before := l.o.DeepCopy()
	convert.SetWorkspace(l.o, next)
	if err := l.patch(ctx, l.o, before); err != nil {
		return fmt.Errorf("cannot %s: %w", what, err)
	}
	l.w = next
	l.memory.learn(l.reach())
	return nil
}
