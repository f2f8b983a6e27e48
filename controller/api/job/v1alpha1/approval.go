package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// JobApproval approves the plan that a JobRun of its namespace has left: exactly that plan is applied, by another JobRun
// that Orcon makes. If the state or the input has changed since, nothing is applied, and another plan is made. Deleting it
// before that withdraws the approval.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ja,categories=orcon
// +kubebuilder:printcolumn:name="Run",type=string,JSONPath=`.spec.run`
// +kubebuilder:printcolumn:name="By",type=string,JSONPath=`.spec.author`
// +kubebuilder:printcolumn:name="Applies",type=string,JSONPath=`.status.run`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type JobApproval struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the approved plan; it never changes.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a JobApproval never changes: delete it and make another"
	Spec JobApprovalSpec `json:"spec"`
	// status is written by the controller.
	// +optional
	Status JobApprovalStatus `json:"status,omitempty"`
}

// JobApprovalSpec is the approved plan.
type JobApprovalSpec struct {
	// run is the name of the JobRun that made the plan.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	Run string `json:"run"`
	// planDigest is the digest of the plan, from state.plan.archive.digest of the JobWorkspace.
	// +required
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	PlanDigest string `json:"planDigest"`
	// author is the name of the user who creates this object; the API server checks it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Author string `json:"author"`
}

// JobApprovalStatus is the observed state of a JobApproval.
type JobApprovalStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// run is the name of the JobRun that applies the plan; unset before it was made.
	// +optional
	// +kubebuilder:validation:MaxLength=52
	Run string `json:"run,omitempty"`
	// conditions are Ready, Reconciling and Stalled. Ready is true once a JobRun applies the plan.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// JobApprovalList is a list of JobApprovals.
//
// +kubebuilder:object:root=true
type JobApprovalList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of a list.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the JobApprovals.
	Items []JobApproval `json:"items"`
}
