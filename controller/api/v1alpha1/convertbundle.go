package v1alpha1

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// RetryKey is the annotation of a BundleDeployment whose new values retry failed content.
const RetryKey = "orcon.tengu.io/retry"

// RequesterKey is the annotation of a BundleDeployment with the user who requested its last
// change; admission enforces it.
const RequesterKey = "orcon.tengu.io/requester"

// The limits of lists and texts in a status.
const (
	maxWaits   = 20
	maxActions = 500
	maxText    = 1024
	maxMessage = 4096
	maxSummary = 256
)

// ToDomain returns the part of the spec that can be wrong by itself.
func (d *BundleDeployment) ToDomain() bundle.Wanted {
	w := bundle.Wanted{
		Ignores: d.Spec.Drift.Ignores(), Judged: d.Spec.Approval.Mode == string(bundle.ByPolicy), Rules: len(d.Spec.Approval.Policy),
		Name: d.Name, Format: d.Spec.Format, DependsOn: d.Spec.DependsOn,
		Values: d.Spec.Render.Values != nil || len(d.Spec.Render.ValuesFrom) > 0, Watch: len(d.Spec.Render.WatchNamespaces) > 0,
	}
	if deadline := d.Spec.Rollback.ProgressDeadline; deadline != nil {
		w.Deadline = deadline.Duration
	}
	for _, s := range d.Spec.Sources {
		w.Sources = append(w.Sources, bundle.WantedSource{
			Reference: s.Reference, Track: s.Tracks(), Authorized: s.Auth != nil, Destination: s.Destination,
		})
	}
	return w
}

// Probes returns the health checks.
func (d *BundleDeployment) Probes() []bundle.Probe {
	var all []bundle.Probe
	for _, c := range d.Spec.HealthChecks {
		all = append(all, bundle.Probe(c))
	}
	return all
}

// Ignores returns the fields that others may set.
func (d BundleDrift) Ignores() []bundle.Ignore {
	var all []bundle.Ignore
	for _, i := range d.Ignore {
		all = append(all, bundle.Ignore(i))
	}
	return all
}

// Tracks reports whether the source follows a tag, branch or address.
func (s BundleSource) Tracks() bool { return s.Resolve == "Track" }

// Restarts reports whether pods are replaced when their configuration changes.
func (r BundleRender) Restarts() bool { return r.OnConfigChange == OnConfigChangeRestart }

// Keeps reports whether failed content stays.
func (r BundleRollback) Keeps() bool { return r.OnFailure == OnFailureKeep }

// Gate returns the rules by which plans are approved, but for those of mode Policy.
func (d *BundleDeployment) Gate() bundle.Gate {
	return bundle.Gate{
		Mode: bundle.ApprovalMode(d.Spec.Approval.Mode), FourEyes: d.Spec.Approval.SelfApproval == SelfApprovalForbid,
		Requester: d.Annotations[RequesterKey],
	}
}

// Account returns the user name of the ServiceAccount that acts for the deployment.
func (d *BundleDeployment) Account() string {
	return fmt.Sprintf("system:serviceaccount:%s:%s", d.Namespace, cmp.Or(d.Spec.ServiceAccountName, "default"))
}

// Owner returns the name of the deployment in the marks of its objects.
func (d *BundleDeployment) Owner() string { return d.Namespace + "/" + d.Name }

// MayDelete returns how many objects may be deleted without confirmation, as bundle.Intent counts them.
func (p BundlePrune) MayDelete() int {
	switch {
	case p.MaxDeletions == nil:
		return 0
	case *p.MaxDeletions == 0:
		return -1
	}
	return int(*p.MaxDeletions)
}

// SetState writes the state of the deployment into its status.
func (d *BundleDeployment) SetState(s bundle.Standing, r bundle.Record, now time.Time) {
	status := &d.Status
	status.ObservedGeneration = d.Generation
	healthy, _ := r.Healthy()
	status.ActiveRevision, status.HealthyRevision = int64(s.Last.Number), int64(healthy)
	status.FinishedObjects, status.Objects = int64(s.Next.Finished), int64(s.Next.All)
	status.Waits, status.Drift = nil, nil
	for _, w := range s.Next.Waits[:min(maxWaits, len(s.Next.Waits))] {
		status.Waits = append(status.Waits, BundleWait{
			Object: w.ID.String(), Phase: w.Phase.String(), Message: cut(w.For, maxText), StartTime: fromTime(w.Since),
		})
	}
	for _, drifted := range s.Drift[:min(maxWaits, len(s.Drift))] {
		status.Drift = append(status.Drift, drifted.ID.String())
	}
	status.Conditions = setConditions(status.Conditions, s.Conditions(), d.Generation, now)
}

// ForPlan returns a plan that waits for approval; revision is 0 for a deletion.
func (d *BundleDeployment) ForPlan(p bundle.Plan, revision int) *BundlePlan {
	plan := &BundlePlan{Digest: p.Digest, Cluster: p.Cluster, HeldObjects: p.HeldNames()}
	if revision > 0 {
		plan.Revision = d.RevisionName(revision)
	}
	return plan
}

// RevisionName returns the name of the BundleRevision of a revision.
func (d *BundleDeployment) RevisionName(revision int) string {
	return d.Name + "-" + strconv.Itoa(revision)
}

// ForRevision returns the BundleRevision of a revision whose plan is stored in the Secrets contents.
func (d *BundleDeployment) ForRevision(v bundle.Revision, p bundle.Plan, contents []string) *BundleRevision {
	r := &BundleRevision{Spec: BundleRevisionSpec{
		Deployment: d.Name, Revision: int64(v.Number), Content: int64(v.Content), Base: int64(v.Base),
		ManifestDigest: v.ManifestDigest, PlanDigest: v.PlanDigest, Contents: contents, Objects: int64(len(p.Sequence)),
	}}
	r.Namespace, r.Name = d.Namespace, d.RevisionName(v.Number)
	r.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, GroupVersion.WithKind("BundleDeployment"))}
	for _, a := range p.Actions {
		if a.Verb == bundle.None {
			continue
		}
		if len(r.Spec.Actions) == maxActions {
			r.Spec.Actions = append(r.Spec.Actions, "… and more")
			break
		}
		r.Spec.Actions = append(r.Spec.Actions, cut(fmt.Sprintf("%s %s", a.Verb, a.ID), maxText))
	}
	return r
}

// SetState writes the state of a revision, and reports whether it has changed.
func (r *BundleRevision) SetState(v bundle.Revision) bool {
	before := r.Status
	r.Status = BundleRevisionStatus{
		State: string(v.State), Message: cut(v.Message, maxMessage), Summary: cut(bundle.Brief(v.Message), maxSummary), Health: HealthUnproven,
	}
	if v.Healthy {
		r.Status.Health = HealthProven
	}
	return r.Status != before
}

// ToDomain returns the approval of a plan. The error names confirmed objects that are not held.
func (a *Approval) ToDomain(p bundle.Plan) (bundle.Approval, error) {
	approval := bundle.Approval{PlanDigest: a.Spec.PlanDigest, By: a.Spec.Author}
	if a.Spec.ExpirationTime != nil {
		approval.Expires = a.Spec.ExpirationTime.Time
	}
	if a.Spec.PlanDigest != p.Digest {
		return approval, nil
	}
	confirmed, err := p.Confirm(slices.Clone(a.Spec.ConfirmedObjects)...)
	approval.Confirmed = confirmed.Confirmed
	return approval, err
}

// cut shortens a text to at most that many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}
