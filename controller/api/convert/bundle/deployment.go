package bundle

import (
	"cmp"
	"fmt"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// The longest lists and texts of a status.
const (
	maxWaits   = 20
	maxNotes   = 20
	maxActions = 500
	maxHeld    = 1024
	maxObject  = 600
	maxMessage = 4096
	maxSummary = 256
)

// ToWanted returns what a deployment requests, as far as it can be wrong in itself.
func ToWanted(d *v1alpha1.BundleDeployment) bundle.Wanted {
	w := bundle.Wanted{
		Ignores: ToIgnores(d.Spec.Drift), Judged: d.Spec.Approval.Mode == string(bundle.ByPolicy), Rules: len(d.Spec.Approval.Policy),
		Name: d.Name, Format: d.Spec.Format, DependsOn: d.Spec.DependsOn,
		Values: d.Spec.Render.Values != nil || len(d.Spec.Render.ValuesFrom) > 0, Watch: len(d.Spec.Render.WatchNamespaces) > 0,
		SkipHooks:  d.Spec.Render.SkipHooks,
		Parameters: len(d.Spec.Render.Parameters) > 0 && !IgnoresUnknown(d.Spec.Render),
	}
	if deadline := d.Spec.Rollback.ProgressDeadline; deadline != nil {
		w.Deadline = deadline.Duration
	}
	for _, s := range d.Spec.Sources {
		w.Sources = append(w.Sources, ToSource(s))
	}
	return w
}

// ToSource returns a source, as far as it can be wrong in itself.
func ToSource(s v1alpha1.BundleSource) bundle.WantedSource {
	return bundle.WantedSource{Reference: s.Reference, Track: Tracks(s), Authorized: s.Auth != nil, Destination: s.Destination}
}

// ToProbes returns the health checks of a deployment.
func ToProbes(d *v1alpha1.BundleDeployment) []bundle.Probe {
	var all []bundle.Probe
	for _, c := range d.Spec.HealthChecks {
		all = append(all, bundle.Probe(c))
	}
	return all
}

// ToIgnores returns the fields that others may set.
func ToIgnores(d v1alpha1.BundleDrift) []bundle.Ignore {
	var all []bundle.Ignore
	for _, i := range d.Ignore {
		all = append(all, bundle.Ignore(i))
	}
	return all
}

// Tracks reports whether a source follows what its reference means now.
func Tracks(s v1alpha1.BundleSource) bool { return s.Resolve == "Track" }

// IgnoresUnknown reports whether parameters that the content does not declare are passed over.
func IgnoresUnknown(r v1alpha1.BundleRender) bool {
	return r.UnknownParameters == v1alpha1.UnknownParametersIgnore
}

// ToParameters returns the values for the parameters of a Template; nil for none.
func ToParameters(r v1alpha1.BundleRender) map[string]string {
	if len(r.Parameters) == 0 {
		return nil
	}
	all := map[string]string{}
	for name, value := range r.Parameters {
		all[name] = string(value)
	}
	return all
}

// Restarts reports whether pods are replaced when their configuration changes.
func Restarts(r v1alpha1.BundleRender) bool {
	return r.OnConfigChange == v1alpha1.OnConfigChangeRestart
}

// Keeps reports whether failed content stays.
func Keeps(r v1alpha1.BundleRollback) bool { return r.OnFailure == v1alpha1.OnFailureKeep }

// ToGate returns the rules by which plans are approved, but for those of mode Policy.
func ToGate(d *v1alpha1.BundleDeployment) bundle.Gate {
	return bundle.Gate{
		Mode: bundle.ApprovalMode(d.Spec.Approval.Mode), FourEyes: d.Spec.Approval.SelfApproval == v1alpha1.SelfApprovalForbid,
		Requester: d.Annotations[v1alpha1.RequesterKey],
	}
}

// Account returns the name of the account that acts for a deployment, as the API server knows it.
func Account(d *v1alpha1.BundleDeployment) string {
	return fmt.Sprintf("system:serviceaccount:%s:%s", d.Namespace, cmp.Or(d.Spec.ServiceAccountName, "default"))
}

// Owner returns a deployment's name as its objects are marked with it.
func Owner(d *v1alpha1.BundleDeployment) string { return d.Namespace + "/" + d.Name }

// MayDelete returns how many objects may be deleted without approval, as bundle.Intent has it.
func MayDelete(p v1alpha1.BundlePrune) int {
	switch {
	case p.MaxDeletions == nil:
		return 0
	case *p.MaxDeletions == 0:
		return -1
	}
	return int(*p.MaxDeletions)
}

// SetDeployment writes the state of a deployment into its status.
func SetDeployment(d *v1alpha1.BundleDeployment, s bundle.Standing, r bundle.Record, now time.Time) {
	status := &d.Status
	status.ObservedGeneration = d.Generation
	healthy, _ := r.Healthy()
	status.ActiveRevision, status.HealthyRevision = int64(s.Last.Number), int64(healthy)
	status.FinishedObjects, status.Objects = int64(s.Next.Finished), int64(s.Next.All)
	status.Waits, status.Drift = nil, nil
	for _, w := range s.Next.Waits[:min(maxWaits, len(s.Next.Waits))] {
		status.Waits = append(status.Waits, v1alpha1.BundleWait{
			Object: condition.Cut(w.ID.String(), maxObject), Phase: w.Phase.String(), Message: condition.Cut(w.Why(), condition.MaxEntry),
			StartTime: value.FromTime(w.Since),
		})
	}
	for _, drifted := range s.Drift[:min(maxWaits, len(s.Drift))] {
		status.Drift = append(status.Drift, drifted.ID.String())
	}
	status.Conditions = value.SetConditions(status.Conditions, s.Conditions(), d.Generation, now)
}

// FromNotes returns the notes of a content, as many as a status holds.
func FromNotes(all []string) []string {
	var notes []string
	for _, note := range condition.CutList(all, maxNotes) {
		notes = append(notes, condition.Cut(note, condition.MaxEntry))
	}
	return notes
}

// ForPlan returns a plan that waits for approval; revision is 0 for a deletion.
func ForPlan(d *v1alpha1.BundleDeployment, p bundle.Plan, revision int) *v1alpha1.BundlePlan {
	plan := &v1alpha1.BundlePlan{Digest: p.Digest, Cluster: p.Cluster, HeldObjects: condition.CutList(p.HeldNames(), maxHeld)}
	if revision > 0 {
		plan.Revision = RevisionName(d, revision)
	}
	return plan
}

// ForRemoval returns what is deleted of a deployment from now on, whatever is approved later.
func ForRemoval(p bundle.Plan) *v1alpha1.BundlePlan {
	return &v1alpha1.BundlePlan{Digest: bundle.NewRemoval(p).Digest(), Cluster: p.Cluster}
}
