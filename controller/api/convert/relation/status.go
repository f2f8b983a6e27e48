package relation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// ForWorkload returns a status as it is stored; nil if none was reported.
func ForWorkload(info status.Info) *v1alpha1.WorkloadStatus {
	if !info.Said() {
		return nil
	}
	return &v1alpha1.WorkloadStatus{State: v1alpha1.WorkloadState(info.State), Message: info.Message, ReportTime: metav1.NewTime(info.Since)}
}

// ToStatus returns a reported status; the zero value if there is none.
func ToStatus(s *v1alpha1.WorkloadStatus) status.Info {
	if s == nil {
		return status.Info{}
	}
	return status.Info{State: status.State(s.State), Message: s.Message, Since: s.ReportTime.UTC()}
}

// ForSide returns the status that a leader of a term reports, as it is stored.
func ForSide(info status.Info, term int) *v1alpha1.SideStatus {
	return &v1alpha1.SideStatus{WorkloadStatus: *ForWorkload(info), Code: info.Code, Resolution: info.Resolution, Term: int64(term)}
}

// inherited returns the status of a side that another Relation takes over, as it is stored: of no term, so that each
// leader may replace it; nil if there is none.
func inherited(info status.Info) *v1alpha1.SideStatus {
	if !info.Said() {
		return nil
	}
	return ForSide(info, 0)
}

// ToSideStatus returns the status of a side; the zero value if there is none.
func ToSideStatus(s *v1alpha1.SideStatus) status.Info {
	if s == nil {
		return status.Info{}
	}
	info := ToStatus(&s.WorkloadStatus)
	info.Code, info.Resolution = s.Code, s.Resolution
	return info
}

// ForFailure returns a failure of handlers as it is stored; nil for none.
func ForFailure(f status.Failure) *v1alpha1.Failure {
	if !f.Fails() {
		return nil
	}
	return &v1alpha1.Failure{
		Event: f.Event, Relation: f.Relation, Attempts: int64(f.Attempts), StartTime: metav1.NewTime(f.Since), Output: f.Said,
	}
}

// ToFailure returns a failure of handlers; the zero value if there is none.
func ToFailure(f *v1alpha1.Failure) status.Failure {
	if f == nil {
		return status.Failure{}
	}
	return status.Failure{Event: f.Event, Relation: f.Relation, Attempts: int(f.Attempts), Since: f.StartTime.UTC(), Said: f.Output}
}
