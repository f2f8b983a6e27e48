package bundledeployment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// deploying carries contents out.
type deploying struct {
	*job
	contents
}

// deploy carries the contents out until something stops it, which it returns.
func (j deploying) deploy(ctx context.Context) (*domain.Stop, error) {
	j.deployment.Status.Sources, j.deployment.Status.Plan = j.resolved, nil
	j.deployment.Status.Notes = convert.FromNotes(j.notes)
	if !j.supersedes() {
		if stop, err := j.run(ctx); stop != nil || err != nil || j.engine.Unfinished() {
			return stop, err
		}
	}
	if j.isThere() {
		return nil, nil
	}
	again := j.retried()
	if stop := j.quarantined(); stop != nil && !again {
		return stop, nil
	}
	if j.more = j.sequence == nil; j.more { // what was not needed a moment ago
		return nil, nil
	}
	request := bundle.Wish{
		Sequence: j.sequence, Probes: convert.ToProbes(j.deployment), Conflicts: domain.ConflictPolicy(j.deployment.Spec.Conflicts), Retry: again,
		ConfirmKinds: j.deployment.Spec.Prune.ConfirmKinds, MaxDeletions: convert.MayDelete(j.deployment.Spec.Prune),
	}
	p, err := j.engine.Plan(ctx, request)
	if err != nil {
		return j.meantime(ctx, stopAt(domain.Planned, "PlanFailed", err))
	}
	if stop, err := j.judge(ctx, &p); stop != nil || err != nil {
		return j.meantime(ctx, stop)
	}
	return j.install(ctx, p, request)
}

// supersedes reports whether the contents are planned before the revision under way, or the way back, goes on, since they
// take its place once the plan is approved. They are not where each plan is approved for itself, or where they have failed
// before.
func (j deploying) supersedes() bool {
	last, again := j.engine.Record().Begun(), j.retried()
	other := last.ManifestDigest != j.manifest && (again || j.quarantined() == nil)
	switch last.State {
	case domain.StateActive:
		return other && j.engine.Gate.Mode != domain.ByDigest
	case domain.StateFailed: // perhaps without a way back
		return other || again
	default:
		return false
	}
}

// run does what can be done at once of the run under way, and returns what stops it.
func (j *job) run(ctx context.Context) (*domain.Stop, error) {
	for j.engine.Unfinished() {
		s, err := j.engine.Advance(ctx)
		if err != nil {
			return j.unadvanced(ctx, err)
		}
		j.step, j.standing.Next = s, s.Next
		if j.more = s.More; !j.more || j.Now().After(j.engine.Until) {
			break
		}
	}
	j.memory.run.Shrink()
	j.more = j.more && j.engine.Unfinished()
	return nil, nil
}

// unadvanced returns the stop of a step that could not be done, or the error if it does not describe the deployment.
func (j *job) unadvanced(ctx context.Context, err error) (*domain.Stop, error) {
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, cluster.ErrMoved):
		return nil, err
	case j.engine.Record().Begun().State == domain.StateFailed:
		return &domain.Stop{Reason: "RollbackFailed", Message: err.Error(), Person: true}, nil
	}
	return &domain.Stop{Reason: "ReadFailed", Message: err.Error()}, nil
}

// judge applies the policy, and returns the stop where something is missing that the plan's
// workloads read.
func (j deploying) judge(ctx context.Context, p *domain.Plan) (*domain.Stop, error) {
	p.Refused = j.policy.Refusals(p.Preview())
	var all []string
	for _, r := range p.Refused {
		all = append(all, r.String())
	}
	j.engine.Gate.Refused = strings.Join(all, "; ")
	lacks, _, err := j.world.Lacks(ctx, *p)
	if err != nil {
		return stopAt(domain.Planned, "PlanFailed", err), ctx.Err()
	}
	if len(lacks) > 0 {
		return &domain.Stop{Stage: domain.Planned, Reason: "ConfigurationMissing", Message: (&domain.LackError{Lacks: lacks}).Error()}, nil
	}
	return nil, nil
}

// isThere reports whether the contents were carried out, well or not.
func (j deploying) isThere() bool {
	last := j.engine.Record().Begun()
	if last.ManifestDigest != j.manifest {
		return false
	}
	return last.State == domain.StateSucceeded || last.State == domain.StateFailed && !j.retried()
}

// retried reports whether a person wants a failed content tried again.
func (j *job) retried() bool {
	retry := j.deployment.Annotations[v1alpha1.RetryKey]
	return retry != "" && retry != j.deployment.Status.LastRetry
}

// quarantined returns the stop of a content that failed before; nil for any other.
func (j deploying) quarantined() *domain.Stop {
	record := j.engine.Record()
	if !slices.Contains(record.Quarantined, j.manifest) {
		return nil
	}
	why := ""
	for _, v := range record.Revisions {
		if v.ManifestDigest == j.manifest && v.State == domain.StateFailed {
			why = fmt.Sprintf(" (revision %d: %s)", v.Number, v.Message)
		}
	}
	return &domain.Stop{Stage: domain.Planned, Reason: "Quarantined", Person: true, Message: fmt.Sprintf(
		"this content failed before%s: change the bundle, or retry it: kubectl annotate bd %s -n %s --overwrite %s=\"$(date)\"",
		why, j.deployment.Name, j.deployment.Namespace, v1alpha1.RetryKey)}
}

// install begins to carry a plan out, or stores it for a person to approve.
func (j deploying) install(ctx context.Context, p domain.Plan, request bundle.Wish) (*domain.Stop, error) {
	approvals, void, err := j.approvals(ctx, p)
	if err != nil {
		return nil, err
	}
	err = j.engine.Begin(ctx, p, request, approvals...)
	refused, isRefused := errors.AsType[*domain.RefusedError](err)
	switch {
	case isRefused && refused.Reason == domain.Conflicted:
		return j.meantime(ctx, &domain.Stop{Stage: domain.Planned, Reason: "Conflict", Message: refused.Message, Person: true})
	case isRefused:
		stop, err := j.propose(ctx, p, request, refused, void)
		if err != nil {
			return nil, err
		}
		return j.meantime(ctx, stop)
	case err != nil:
		return nil, err
	case request.Retry:
		j.deployment.Status.LastRetry = j.deployment.Annotations[v1alpha1.RetryKey]
	}
	return j.run(ctx)
}

// propose stores a plan that waits for approval, and returns the stop that names the command to
// approve it. Approvals of an earlier plan are void, with the difference.
func (j deploying) propose(ctx context.Context, p domain.Plan, request bundle.Wish, refused *domain.RefusedError, void string) (
	*domain.Stop, error,
) {
	before := j.engine.Record().Last()
	changed := ""
	if before.State == domain.StateProposed && before.PlanDigest != p.Digest {
		old, err := j.engine.Store.Plan(ctx, before.Number)
		if err == nil && old.Changed(p) != nil {
			changed = old.Changed(p).Error() + "; "
		}
	}
	if err := j.engine.Propose(ctx, p, request); err != nil {
		return nil, err
	}
	proposed := j.engine.Record().Last()
	j.deployment.Status.Plan = convert.ForPlan(j.deployment, p, proposed.Number)
	stop := &domain.Stop{Stage: domain.Approved, Reason: string(refused.Reason), Person: true}
	if changed != "" {
		stop.Reason = "PlanChanged"
	}
	stop.Message = fmt.Sprintf("%s%s%s. To approve it: orcon approve %s -n %s", changed, void, refused.Message, j.deployment.Name,
		j.deployment.Namespace)
	return stop, nil
}

// approvals returns the Approvals of a plan. void describes what is wrong with one of them.
func (j *job) approvals(ctx context.Context, p domain.Plan) (all []domain.Approval, void string, err error) {
	var list v1alpha1.ApprovalList
	if err := j.Client.List(ctx, &list, client.InNamespace(j.deployment.Namespace)); err != nil {
		return nil, "", fmt.Errorf("cannot list Approvals: %w", err)
	}
	for i := range list.Items {
		a := &list.Items[i]
		approval, approves, err := convert.ToApproval(a, j.deployment.Name, p)
		switch {
		case err != nil:
			void = fmt.Sprintf("Approval %s is void: %v; ", a.Name, err)
		case approves:
			all = append(all, approval)
		}
	}
	return all, void, nil
}
