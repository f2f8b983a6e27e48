package v1alpha1

// JobCheck tells when a JobWorkspace is checked. The check ends with exit code 2 if what is there differs from the state.
type JobCheck struct {
	// schedule is when a check is made, as the five fields of cron in UTC, or @daily, @every 6h and the like, at least a
	// minute apart. A check that was missed is made up for once.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Schedule string `json:"schedule"`
}
