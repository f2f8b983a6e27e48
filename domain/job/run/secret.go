package run

import "slices"

// Confidential tells which values people must not read. It has none of them.
type Confidential struct {
	// Secrets are files of the run.
	Secrets []SecretFile `json:"secrets,omitempty"`
	// SensitiveOutputs are names of outputs.
	SensitiveOutputs []string `json:"sensitiveOutputs,omitempty"`
}

// SecretFile is a file of each run with the value of a key of a Secret, or with a token of its own.
type SecretFile struct {
	// Name is the name of the file.
	Name   string `json:"name"`
	Secret string `json:"secret"`
	Key    string `json:"key"`
	// JoinToken names the RunNode as which a machine joins by the token, which is minted for each claim; "" for a Secret.
	JoinToken string `json:"joinToken,omitempty"`
}

// Minted returns the files with tokens, which no Secret has.
func Minted(files []SecretFile) []SecretFile {
	return slices.DeleteFunc(slices.Clone(files), func(f SecretFile) bool { return f.JoinToken == "" })
}

// Stored returns the files whose values are those of Secrets.
func Stored(files []SecretFile) []SecretFile {
	return slices.DeleteFunc(slices.Clone(files), func(f SecretFile) bool { return f.JoinToken != "" })
}
