package v1alpha1

// JobSecret is a file with the value of a key of a Secret, or with a token that is minted for each run.
//
// +kubebuilder:validation:XValidation:rule="has(self.joinToken) != has(self.secret)",message="name secret and key, or joinToken instead"
// +kubebuilder:validation:XValidation:rule="has(self.secret) == has(self.key)",message="secret and key belong together: name both"
type JobSecret struct {
	// name is the name of the file. A parameter {"fromFile": "/run/orcon/secrets/NAME"} of a template with a type is a variable
	// with its content.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`
	Name string `json:"name"`
	// secret is the name of a Secret of this namespace; unset for a joinToken.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Secret string `json:"secret,omitempty"`
	// key is the key of the Secret; unset for a joinToken.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
	// joinToken has the file be a token by which a machine joins as a RunNode, once, within 15 minutes; unset for a Secret. It
	// is minted when the run is claimed. A cluster administrator permits that for the namespace, by ClusterRole
	// orcon-job-tokens.
	// +optional
	JoinToken *JobJoinToken `json:"joinToken,omitempty"`
}

// JobJoinToken is a token by which a machine joins as a RunNode.
type JobJoinToken struct {
	// node is the name of the RunNode, which must be there.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Node string `json:"node"`
}
