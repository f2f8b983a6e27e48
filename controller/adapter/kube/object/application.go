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
	without.Status.Workload, without.Status.Conditions, without.Status.Units = nil, nil, slices.Clone(a.Status.Units)
	for i := range without.Status.Units {
		without.Status.Units[i].Workload, without.Status.Units[i].Failure = nil, nil
	}
	return &without
}

// UnitOfPod returns the living unit of a pod.
func UnitOfPod(a *v1alpha1.RelatedApplication, uid string) (unit *v1alpha1.Unit, lives bool) {
	for i := range a.Status.Units {
		if u := &a.Status.Units[i]; u.PodUID == uid && u.DepartureReason == "" {
			return u, true
		}
	}
	return nil, false
}

// SameToOthers reports whether two states of a unit are the same to other applications. Its reported
// status and the time of its end are for people only, and that it leaves counts once it has gone.
func SameToOthers(u, v v1alpha1.Unit) bool {
	u.Workload, u.Failure, u.DepartureTime, u.TerminationReason = nil, nil, nil, ""
	v.Workload, v.Failure, v.DepartureTime, v.TerminationReason = nil, nil, nil, ""
	return u == v
}
