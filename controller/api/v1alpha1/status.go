package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// WorkloadState is a workload status in one of Juju's words.
// +kubebuilder:validation:Enum=maintenance;blocked;waiting;active
type WorkloadState string

// WorkloadStatus is a status that a workload reports.
type WorkloadStatus struct {
	// state is maintenance, blocked, waiting or active.
	// +required
	State WorkloadState `json:"state"`
	// message explains the state, in at most 1024 characters. Unset: no message.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// reportTime is the time at which this status was first reported.
	// +required
	ReportTime metav1.Time `json:"reportTime"`
}

// SideStatus is the status that one side of a relation reports.
type SideStatus struct {
	WorkloadStatus `json:",inline"`
	// code is one word for the cause, at most 64 characters. Unset: none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Code string `json:"code,omitempty"`
	// resolution is the cure, in at most 1024 characters. Unset: none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Resolution string `json:"resolution,omitempty"`
	// term is the term of the leader that reported the status; a leader of a lower term is refused.
	// +required
	Term int64 `json:"term"`
}

// Failure is an event at which a unit's handler fails.
type Failure struct {
	// event is the name of the hook and its subject.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Event string `json:"event"`
	// relation is the UID of the Relation that the event is about. Unset: none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Relation string `json:"relation,omitempty"`
	// attempts is the number of failures when last reported: 1, 2, 4, 8 and so on.
	// +required
	Attempts int64 `json:"attempts"`
	// startTime is the time of the first reported failure.
	// +required
	StartTime metav1.Time `json:"startTime"`
	// output is the handler's exit and the end of its standard error, at most 512 characters. Unset:
	// none.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Output string `json:"output,omitempty"`
}

// ForWorkload returns a status as it is stored; nil if none was reported.
func ForWorkload(info status.Info) *WorkloadStatus {
	if !info.Said() {
		return nil
	}
	return &WorkloadStatus{State: WorkloadState(info.State), Message: info.Message, ReportTime: metav1.NewTime(info.Since)}
}

// ToDomain returns the status in the domain's type.
func (s *WorkloadStatus) ToDomain() status.Info {
	if s == nil {
		return status.Info{}
	}
	return status.Info{State: status.State(s.State), Message: s.Message, Since: s.ReportTime.UTC()}
}

// ForSide returns the status that the leader of a term reports, as it is stored.
func ForSide(info status.Info, term int) *SideStatus {
	return &SideStatus{WorkloadStatus: *ForWorkload(info), Code: info.Code, Resolution: info.Resolution, Term: int64(term)}
}

// ToDomain returns the status in the domain's type.
func (s *SideStatus) ToDomain() status.Info {
	if s == nil {
		return status.Info{}
	}
	info := s.WorkloadStatus.ToDomain()
	info.Code, info.Resolution = s.Code, s.Resolution
	return info
}

// ForFailure returns a failure as it is stored; nil if no handler fails.
func ForFailure(f status.Failure) *Failure {
	if !f.Fails() {
		return nil
	}
	return &Failure{
		Event: f.Event, Relation: f.Relation, Attempts: int64(f.Attempts), StartTime: metav1.NewTime(f.Since), Output: f.Said,
	}
}

// ToDomain returns the failure.
func (f *Failure) ToDomain() status.Failure {
	if f == nil {
		return status.Failure{}
	}
	return status.Failure{
		Event: f.Event, Relation: f.Relation, Attempts: int(f.Attempts), Since: f.StartTime.UTC(), Said: f.Output,
	}
}

// Side returns the field with the status of a side. The one side of a peer relation is its requirer.
func (r *Relation) Side(role application.Role) **SideStatus {
	if role == application.Provider {
		return &r.Status.ProviderStatus
	}
	return &r.Status.RequirerStatus
}

// OfPod returns the living unit of a pod.
func (a *RelatedApplication) OfPod(uid string) (unit *Unit, lives bool) {
	for i := range a.Status.Units {
		if u := &a.Status.Units[i]; u.PodUID == uid && u.DepartureReason == "" {
			return u, true
		}
	}
	return nil, false
}

// SameToOthers reports whether two states of a unit are the same to other applications. Its reported
// status, its failure and the time of its departure are for people, and its termination matters once it
// has departed.
func (u Unit) SameToOthers(v Unit) bool {
	u.Workload, u.Failure, u.DepartureTime, u.TerminationReason = nil, nil, nil, ""
	v.Workload, v.Failure, v.DepartureTime, v.TerminationReason = nil, nil, nil, ""
	return u == v
}

// keep takes over what the relations API writes (SAFETY.md D11): the leader, the status of the
// application and, until its pod is gone, the status and the failure of a unit.
func (s *RelatedApplicationStatus) keep(before RelatedApplicationStatus) {
	said := map[string]Unit{}
	for _, u := range before.Units {
		said[u.PodUID] = u
	}
	for i := range s.Units {
		if u := &s.Units[i]; u.DepartureReason == "" {
			u.Workload, u.Failure = said[u.PodUID].Workload, said[u.PodUID].Failure
		}
	}
	s.Leader, s.Workload = before.Leader, before.Workload
}
