package bundledeployment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// carryOut deploys the rendered bundle until something stops it, which it returns.
func (j *job) carryOut(ctx context.Context, w wanted) (*domain.Stop, error) {
	j.deployment.Status.Sources, j.deployment.Status.Plan = w.resolved, nil
	j.engine.Tell = func(p bundle.Progress) { j.tell(ctx, p) }
	if err := j.finish(ctx, w); err != nil {
		return nil, err
	}
	if j.isThere(w) {
		return nil, nil
	}
	again := j.retried()
	if stop := j.quarantined(w); stop != nil && !again {
		return stop, nil
	}
	wish := bundle.Wish{
		Sequence: w.sequence, Probes: convert.ToProbes(j.deployment), Conflicts: domain.ConflictPolicy(j.deployment.Spec.Conflicts), Retry: again,
		ConfirmKinds: j.deployment.Spec.Prune.ConfirmKinds, MaxDeletions: convert.MayDelete(j.deployment.Spec.Prune),
	}
	p, err := j.engine.Plan(ctx, wish)
	if err != nil {
		return stopAt(domain.Planned, "PlanFailed", err), ctx.Err()
	}
	if stop, err := j.judge(ctx, &p); stop != nil || err != nil {
		return stop, err
	}
	if again {
		j.deployment.Status.LastRetry = j.deployment.Annotations[v1alpha1.RetryKey]
	}
	return j.install(ctx, p, wish)
}

// judge asks the policy, and whether all is there that the plan's workloads read.
func (j *job) judge(ctx context.Context, p *domain.Plan) (*domain.Stop, error) {
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

// finish goes on with a run that was interrupted, unless something else is wanted by now.
// What waits for approval waits for its end too.
func (j *job) finish(ctx context.Context, w wanted) error {
	last := j.engine.Record().Begun()
	moved := last.State == domain.StateActive && last.ManifestDigest != w.manifest && j.engine.Gate.Mode != domain.ByDigest
	if !j.engine.Unfinished() || moved {
		return nil
	}
	return j.ended(j.engine.Resume(ctx))
}

// ended tells errors that are stored, and so are the deployment's standing, from others.
func (j *job) ended(err error) error {
	if _, failed := errors.AsType[*bundle.FailedError](err); failed || errors.Is(err, bundle.ErrTimeout) {
		return nil
	}
	return err
}

// isThere reports whether what is wanted was carried out, well or not.
func (j *job) isThere(w wanted) bool {
	last := j.engine.Record().Begun()
	if last.ManifestDigest != w.manifest {
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
func (j *job) quarantined(w wanted) *domain.Stop {
	record := j.engine.Record()
	if !slices.Contains(record.Quarantined, w.manifest) {
		return nil
	}
	why := ""
	for _, v := range record.Revisions {
		if v.ManifestDigest == w.manifest && v.State == domain.StateFailed {
			why = fmt.Sprintf(" (revision %d: %s)", v.Number, v.Message)
		}
	}
	return &domain.Stop{Stage: domain.Planned, Reason: "Quarantined", Person: true, Message: fmt.Sprintf(
		"this content failed before%s: change the bundle, or retry it: kubectl annotate bd %s -n %s --overwrite %s=\"$(date)\"",
		why, j.deployment.Name, j.deployment.Namespace, v1alpha1.RetryKey)}
}

// install carries a plan out, or stores it for somebody to approve.
func (j *job) install(ctx context.Context, p domain.Plan, wish bundle.Wish) (*domain.Stop, error) {
	approvals, void, err := j.approvals(ctx, p)
	if err != nil {
		return nil, err
	}
	err = j.engine.Install(ctx, p, wish, approvals...)
	refused, isRefused := errors.AsType[*domain.RefusedError](err)
	switch {
	case isRefused && refused.Reason == domain.Conflicted:
		return &domain.Stop{Stage: domain.Planned, Reason: "Conflict", Message: refused.Message, Person: true}, nil
	case isRefused:
		return j.propose(ctx, p, refused, void)
	case errors.Is(err, cluster.ErrMoved):
		return nil, err
	}
	if err := j.ended(err); err != nil {
		return nil, err
	}
	if now := j.engine.Record().Begun(); now.ManifestDigest != p.ManifestDigest {
		return j.quarantined(wanted{manifest: p.ManifestDigest}), nil
	}
	return nil, nil
}

// propose stores a plan that waits for approval, and returns the stop that tells how to
// approve it. Approvals of an earlier plan are void, with the difference.
func (j *job) propose(ctx context.Context, p domain.Plan, refused *domain.RefusedError, void string) (*domain.Stop, error) {
	before := j.engine.Record().Last()
	changed := ""
	if before.State == domain.StateProposed && before.PlanDigest != p.Digest {
		old, err := j.engine.Store.Plan(ctx, before.Number)
		if err == nil && old.Changed(p) != nil {
			changed = old.Changed(p).Error() + "; "
		}
	}
	if err := j.engine.Propose(ctx, p); err != nil {
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

// approvals are what people have said about a plan of this deployment. void says what is
// wrong with one of them.
func (j *job) approvals(ctx context.Context, p domain.Plan) (all []domain.Approval, void string, err error) {
	var list v1alpha1.ApprovalList
	if err := j.Client.List(ctx, &list, client.InNamespace(j.deployment.Namespace)); err != nil {
		return nil, "", fmt.Errorf("cannot list Approvals: %w", err)
	}
	for i := range list.Items {
		a := &list.Items[i]
		if a.Spec.Deployment != j.deployment.Name || a.Spec.PlanDigest != p.Digest || !a.DeletionTimestamp.IsZero() {
			continue
		}
		approval, err := convert.ToApproval(a, p)
		if err != nil {
			void = fmt.Sprintf("Approval %s is void: %v; ", a.Name, err)
			continue
		}
		all = append(all, approval)
	}
	return all, void, nil
}
