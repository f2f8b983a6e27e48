package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// WorkloadState is how a workload says it is, in one of Juju's words.
// +kubebuilder:validation:Enum=maintenance;blocked;waiting;active
type WorkloadState string

// WorkloadStatus is how a workload says it is.
type WorkloadStatus struct {
	// state is maintenance, blocked, waiting or active.
	State WorkloadState `json:"state"`
	// message is for people; unset for none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// since is when this was said first.
	Since metav1.Time `json:"since"`
}

// SideStatus is what one side of a relation says of how it is in it.
type SideStatus struct {
	WorkloadStatus `json:",inline"`
	// code is one word for what is so; unset for none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Code string `json:"code,omitempty"`
	// resolution is what a person can do about it; unset for none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Resolution string `json:"resolution,omitempty"`
	// term is that of the leader who said it; a leader of a lower one is refused.
	Term int64 `json:"term"`
}

// Failing is what the handlers of a unit fail at.
type Failing struct {
	// event is the hook, and whom it is about.
	// +kubebuilder:validation:MaxLength=256
	Event string `json:"event"`
	// relation is the UID of the Relation concerned; unset for none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Relation string `json:"relation,omitempty"`
	// attempts is how often it has failed, as told: 1, 2, 4, 8 and so on.
	Attempts int64 `json:"attempts"`
	// since is when it was told first.
	Since metav1.Time `json:"since"`
	// said is how the handler ended, and its last words.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Said string `json:"said,omitempty"`
}

// ForWorkload returns a status as it is stored; nil where nothing was said.
func ForWorkload(info status.Info) *WorkloadStatus {
	if !info.Said() {
		return nil
	}
	return &WorkloadStatus{State: WorkloadState(info.State), Message: info.Message, Since: metav1.NewTime(info.Since)}
}

// ToDomain returns the status as the domain knows it.
func (s *WorkloadStatus) ToDomain() status.Info {
	if s == nil {
		return status.Info{}
	}
	return status.Info{State: status.State(s.State), Message: s.Message, Since: s.Since.UTC()}
}

// ForSide returns what a leader of a term says, as it is stored.
func ForSide(info status.Info, term int) *SideStatus {
	return &SideStatus{WorkloadStatus: *ForWorkload(info), Code: info.Code, Resolution: info.Resolution, Term: int64(term)}
}

// ToDomain returns the status as the domain knows it.
func (s *SideStatus) ToDomain() status.Info {
	if s == nil {
		return status.Info{}
	}
	info := s.WorkloadStatus.ToDomain()
	info.Code, info.Resolution = s.Code, s.Resolution
	return info
}

// ForFailure returns what handlers fail at, as it is stored; nil for nothing.
func ForFailure(f status.Failure) *Failing {
	if !f.Fails() {
		return nil
	}
	return &Failing{Event: f.Event, Relation: f.Relation, Attempts: int64(f.Attempts), Since: metav1.NewTime(f.Since), Said: f.Said}
}

// ToDomain returns the failure as the domain knows it.
func (f *Failing) ToDomain() status.Failure {
	if f == nil {
		return status.Failure{}
	}
	return status.Failure{Event: f.Event, Relation: f.Relation, Attempts: int(f.Attempts), Since: f.Since.UTC(), Said: f.Said}
}

// Side returns where a side of the relation says how it is. The one side of a peer
// relation is its requirer.
func (r *Relation) Side(role application.Role) **SideStatus {
	if role == application.Provider {
		return &r.Status.ProviderStatus
	}
	return &r.Status.RequirerStatus
}

// OfPod returns the unit of a pod, if it lives.
func (a *RelatedApplication) OfPod(uid string) (unit *Unit, lives bool) {
	for i := range a.Status.Units {
		if u := &a.Status.Units[i]; u.PodUID == uid && u.Gone == "" {
			return u, true
		}
	}
	return nil, false
}

// SameToOthers reports whether two states of a unit are the same to the other
// applications: how it says it is, is for people, and so is since when it is gone; that it
// leaves they hear when it has.
func (u Unit) SameToOthers(v Unit) bool {
	u.Workload, u.Failing, u.GoneSince, u.Leaving = nil, nil, nil, ""
	v.Workload, v.Failing, v.GoneSince, v.Leaving = nil, nil, nil, ""
	return u == v
}

// keep takes over what pods have said meanwhile: the relations API writes it, not
// the domain (SAFETY.md D11). It ends with the pod.
func (s *RelatedApplicationStatus) keep(before RelatedApplicationStatus) {
	said := map[string]Unit{}
	for _, u := range before.Units {
		said[u.PodUID] = u
	}
	for i := range s.Units {
		if u := &s.Units[i]; u.Gone == "" {
			u.Workload, u.Failing = said[u.PodUID].Workload, said[u.PodUID].Failing
		}
	}
	s.Leader, s.Workload = before.Leader, before.Workload
}
