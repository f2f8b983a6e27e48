package bundle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// ErrFinalJob is wrapped where a Job of an uninstallation fails, or cannot be read. Nothing was deleted then.
var ErrFinalJob = errors.New("nothing is deleted")

// finishing runs the Jobs of an uninstallation, before anything is deleted (CONTENT.md X2).
type finishing struct {
	*Engine

	jobs []bundle.Entry
}

// newFinishing returns the Jobs that are left to run of those that were approved.
func newFinishing(e *Engine, p bundle.Plan) finishing {
	deleted := map[bundle.ID]bool{}
	for _, a := range p.Actions {
		deleted[a.ID] = a.Verb == bundle.Delete
	}
	jobs := slices.DeleteFunc(bundle.FinalJobs(e.record, e.SkipJobs), func(entry bundle.Entry) bool {
		return !deleted[entry.ID]
	})
	return finishing{e, jobs}
}

// step does the next step, and returns what the Jobs wait for; nothing when all have completed.
func (f finishing) step(ctx context.Context) ([]bundle.Wait, error) {
	if len(f.jobs) == 0 {
		return nil, nil
	}
	content, err := f.Store.Plan(ctx, f.record.Begun().Number)
	if err != nil {
		return nil, fmt.Errorf("cannot run %s: %w: %w: %s", f.jobs[0].ID, ErrFinalJob, err, skipping(f.jobs[0]))
	}
	final := bundle.NewFinal(content, f.jobs)
	if len(final.Sequence) == 0 {
		return nil, nil
	}
	seen, err := f.Cluster.Observe(ctx, final.Sequence.Look(f.Owner, bundle.Record{}, nil))
	if err != nil {
		f.tell(Progress{Trouble: err})
		return nil, err
	}
	next := bundle.Step(final, f.record, seen.Live, bundle.Pace{Now: f.Now(), Deadline: f.Patience})
	f.tell(Progress{Next: next})
	if len(next.Completed) > 0 {
		if err := f.save(ctx, f.record.Complete(next.Completed...), nil); err != nil {
			return nil, stored(err)
		}
	}
	return f.carryOut(ctx, next)
}

// carryOut writes the Jobs that are next.
func (f finishing) carryOut(ctx context.Context, next bundle.Next) ([]bundle.Wait, error) {
	switch {
	case len(next.Failures) > 0:
		return nil, f.failed(next.Failures[0])
	case next.Outcome == bundle.Succeeded:
		return nil, nil
	}
	_, refused := f.Cluster.Apply(ctx, next.Apply)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	waits := slices.Clone(next.Waits)
	for _, w := range next.Apply {
		wait := bundle.Wait{ID: w.Object.ID(), Phase: bundle.Jobs, For: "was started"}
		if err := refused[wait.ID]; err != nil {
			wait.For = err.Error()
		}
		waits = append(waits, wait)
	}
	for i := range waits {
		waits[i].For = "runs before anything is deleted: " + waits[i].For
	}
	return waits, nil
}

// failed returns the error of a Job that failed, with the cures.
func (f finishing) failed(failure bundle.Failure) error {
	at := slices.IndexFunc(f.jobs, func(entry bundle.Entry) bool { return entry.ID == failure.ID })
	return fmt.Errorf("cannot uninstall: %w: %s: delete the Job to have it run again, or %s", ErrFinalJob, failure, skipping(f.jobs[at]))
}

// skipping returns the cure that leaves a Job out.
func skipping(entry bundle.Entry) string {
	return fmt.Sprintf("leave it out (orcon uninstall --skip-hook %[1]s/%[2]s, or spec.render.skipHooks of a BundleDeployment)",
		entry.Origin.Kind, entry.Origin.Name)
}
