package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
