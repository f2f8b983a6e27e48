package v1alpha1

// ApprovalPlan is the approval of a JobWorkspace whose changes are planned and approved.
const ApprovalPlan = "Plan"

// JobPlan is a plan that a run left, to be applied once a person has approved it.
type JobPlan struct {
	// run is the JobRun that made it.
	// +required
	Run JobHolder `json:"run"`
	// archive is the stored plan.
	// +required
	Archive JobArchive `json:"archive"`
	// input is the digest of the input that it was made with.
	// +required
	// +kubebuilder:validation:MaxLength=71
	Input string `json:"input"`
	// generation is the number of the state that it is for; unset is the empty one.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Generation int64 `json:"generation,omitempty"`
	// applied is the JobRun that was admitted to apply it; unset for none.
	// +optional
	Applied *JobHolder `json:"applied,omitempty"`
}
