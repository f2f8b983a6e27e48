package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// ErrFinalJob is wrapped where a Job of an uninstallation fails, or cannot be read. Nothing was deleted then.
var ErrFinalJob = errors.New("nothing is deleted")

// final does one step of the Jobs that an uninstallation runs before anything is deleted (CONTENT.md X2), and returns
// what they wait for; nothing when all have completed. What was approved alone runs.
func (e *Engine) final(ctx context.Context, p bundle.Plan) ([]bundle.Wait, error) {
	planned := map[bundle.ID]bundle.Verb{}
	for _, a := range p.Actions {
		planned[a.ID] = a.Verb
	}
	jobs := slices.DeleteFunc(e.record.Final(e.SkipJobs), func(entry bundle.Entry) bool {
		return !slices.Contains(e.record.Removing, entry.ID) || planned[entry.ID] != bundle.Delete
	})
	if len(jobs) == 0 {
		return nil, nil
	}
	stored, err := e.Store.Plan(ctx, e.record.Begun().Number)
	if err != nil {
		return nil, fmt.Errorf("cannot run %s: %w: %w: %s", jobs[0].ID, ErrFinalJob, err, skipping(jobs[0]))
	}
	final := stored.Final(jobs)
	if len(final.Sequence) == 0 {
		return nil, nil
	}
	seen, err := e.Cluster.Observe(ctx, final.Sequence.Look(e.Owner, bundle.Record{}, nil))
	if err != nil {
		e.tell(Progress{Trouble: err})
		return nil, err
	}
	next := bundle.Step(final, e.record, seen.Live, bundle.Pace{Now: e.Now(), Deadline: e.Patience})
	e.tell(Progress{Next: next})
	return e.carryOut(ctx, next, jobs)
}

// carryOut writes what is next of the Jobs of an uninstallation, and stores which have completed.
func (e *Engine) carryOut(ctx context.Context, next bundle.Next, jobs []bundle.Entry) ([]bundle.Wait, error) {
	if len(next.Completed) > 0 {
		if err := e.save(ctx, e.record.Complete(next.Completed...), nil); err != nil {
			return nil, stored(err)
		}
	}
	if len(next.Failures) > 0 {
		f := next.Failures[0]
		at := slices.IndexFunc(jobs, func(entry bundle.Entry) bool { return entry.ID == f.ID })
		return nil, fmt.Errorf("cannot uninstall: %w: %s: delete the Job to have it run again, or %s", ErrFinalJob, f, skipping(jobs[max(0, at)]))
	}
	if next.Outcome == bundle.Succeeded {
		return nil, nil
	}
	_, refused := e.Cluster.Apply(ctx, next.Apply)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	waits := slices.Clone(next.Waits)
	for _, w := range next.Apply {
		why := "was started"
		if err := refused[w.Object.ID()]; err != nil {
			why = err.Error()
		}
		waits = append(waits, bundle.Wait{ID: w.Object.ID(), Phase: bundle.Jobs, For: why})
	}
	for i := range waits {
		waits[i].For = "runs before anything is deleted: " + cmp.Or(waits[i].For, "is not complete")
	}
	return waits, nil
}

// skipping returns the cure that leaves a Job out.
func skipping(entry bundle.Entry) string {
	return fmt.Sprintf("leave it out (orcon uninstall --skip-hook %[1]s/%[2]s, or spec.render.skipHooks of a BundleDeployment)",
		entry.Origin.Kind, entry.Origin.Name)
}
