package bundle

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// RevisionName returns the name of a revision of a deployment.
func RevisionName(d *v1alpha1.BundleDeployment, revision int) string {
	return d.Name + "-" + strconv.Itoa(revision)
}

// ForRevision returns the BundleRevision of a revision, its plan and the names of the stored contents.
func ForRevision(d *v1alpha1.BundleDeployment, v bundle.Revision, p bundle.Plan, contents []string) *v1alpha1.BundleRevision {
	r := &v1alpha1.BundleRevision{Spec: v1alpha1.BundleRevisionSpec{
		Deployment: d.Name, Revision: int64(v.Number), Content: int64(v.Content), Base: int64(v.Base),
		ManifestDigest: v.ManifestDigest, PlanDigest: v.PlanDigest, Contents: contents, Objects: int64(len(p.Sequence)),
	}}
	r.Namespace, r.Name = d.Namespace, RevisionName(d, v.Number)
	r.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, v1alpha1.GroupVersion.WithKind("BundleDeployment"))}
	for _, a := range p.Actions {
		if a.Verb == bundle.None {
			continue
		}
		if len(r.Spec.Actions) == maxActions {
			r.Spec.Actions = append(r.Spec.Actions, "… and more")
			break
		}
		r.Spec.Actions = append(r.Spec.Actions, condition.Cut(fmt.Sprintf("%s %s", a.Verb, a.ID), condition.MaxEntry))
	}
	return r
}

// SetRevision writes the state of a revision, and reports whether it has changed.
func SetRevision(r *v1alpha1.BundleRevision, v bundle.Revision) bool {
	before := r.Status
	r.Status = v1alpha1.BundleRevisionStatus{
		State: string(v.State), Message: condition.Cut(v.Message, maxMessage), Summary: condition.Cut(bundle.Brief(v.Message), maxSummary),
		Health: health(v), Library: v.Library,
	}
	return r.Status != before
}

func health(v bundle.Revision) v1alpha1.Health {
	switch {
	case v.Healthy:
		return v1alpha1.HealthProven
	case v.Begun:
		return v1alpha1.HealthUnproven
	}
	return v1alpha1.HealthUntried
}

// Begun reports whether a BundleRevision was published as carried out.
func Begun(r *v1alpha1.BundleRevision) bool {
	return r.Status.Health == v1alpha1.HealthUnproven || r.Status.Health == v1alpha1.HealthProven
}
