package run

// Confidential tells which values people must not read. It has none of them.
type Confidential struct {
	// Secrets are files of the run.
	Secrets []SecretFile `json:"secrets,omitempty"`
	// SensitiveOutputs are names of outputs.
	SensitiveOutputs []string `json:"sensitiveOutputs,omitempty"`
}

// SecretFile names a key of a Secret, whose value is a file of each run.
type SecretFile struct {
	// Name is the name of the file.
	Name   string `json:"name"`
	Secret string `json:"secret"`
	Key    string `json:"key"`
}
