package v1alpha1

// JobTarget chooses the place that carries runs out.
type JobTarget struct {
	// runNode has runs carried out by a machine outside of the cluster. It must permit this namespace. It gets the secrets
	// of runs where ClusterRole orcon-job-secrets is bound here.
	// +required
	RunNode JobNodeTarget `json:"runNode"`
}

// JobNodeTarget chooses a RunNode for each run.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.labels)",message="use name or labels"
type JobNodeTarget struct {
	// name is the name of a RunNode; unset for one that labels choose.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// labels are those that a RunNode has, with their values: the one of them with the most room gets a run. Unset for one
	// that is named.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	Labels map[string]string `json:"labels,omitempty"`
}
