package object

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// OnlyRenews reports whether the one change since before is a longer term of the leader. Each
// application with a leader is written so every few seconds.
func OnlyRenews(a, before *v1alpha1.RelatedApplication) bool {
	if before.Status.Leader == nil || a.Status.Leader == nil {
		return false
	}
	renewed, leader := *before, *before.Status.Leader
	leader.ExpirationTime = a.Status.Leader.ExpirationTime
	renewed.Status.Leader = &leader
	renewed.ResourceVersion, renewed.ManagedFields = a.ResourceVersion, a.ManagedFields
	return equality.Semantic.DeepEqual(&renewed, a)
}

// OnlyReports reports whether the only changes since before are statuses that the application and
// its units report, and conditions. Other namespaces do not read them.
func OnlyReports(a, before *v1alpha1.RelatedApplication) bool {
	was, is := withoutReports(before), withoutReports(a)
	was.ResourceVersion, was.ManagedFields = a.ResourceVersion, a.ManagedFields
	return equality.Semantic.DeepEqual(was, is)
}

// withoutReports returns a copy of the application without reported statuses and conditions.
func withoutReports(a *v1alpha1.RelatedApplication) *v1alpha1.RelatedApplication {
	without := *a
	without.Status.Workload, without.Status.Conditions, without.Status.Reports = nil, nil, nil
	without.Status.ObservedGeneration = 0 // what changed with the generation is compared
	return &without
}

// UnitOfPod returns the living unit of a pod.
func UnitOfPod(a *v1alpha1.RelatedApplication, uid string) (unit *v1alpha1.Unit, lives bool) {
	for i := range a.State.Units {
		if u := &a.State.Units[i]; u.PodUID == uid && u.DepartureReason == "" {
			return u, true
		}
	}
	return nil, false
}

// ReportOf returns the report of a unit, and adds an empty one if there is none.
func ReportOf(a *v1alpha1.RelatedApplication, unit *v1alpha1.Unit) *v1alpha1.Report {
	i := slices.IndexFunc(a.Status.Reports, func(r v1alpha1.Report) bool { return r.PodUID == unit.PodUID })
	if i < 0 {
		i = len(a.Status.Reports)
		a.Status.Reports = append(a.Status.Reports, v1alpha1.Report{PodUID: unit.PodUID, Unit: unit.Number})
	}
	return &a.Status.Reports[i]
}

// SameToOthers reports whether two states of a unit are the same to other applications. The time of its
// end is for people only, and that it leaves counts once it has gone.
func SameToOthers(u, v v1alpha1.Unit) bool {
	u.DepartureTime, u.TerminationReason = nil, ""
	v.DepartureTime, v.TerminationReason = nil, ""
	return u == v
}
