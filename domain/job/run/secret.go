package run

import (
	"fmt"
	"slices"
	"strings"
)

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

// A sensitive parameter is an object whose member keyFile is the path of a file of folder.
const (
	keyFile = "fromFile"
	folder  = "/run/orcon/secrets/"
)

// fileOf returns the name of the file that has the value of a sensitive parameter: the one that is given, or the one of its
// name; "" for none. Errors do not repeat what is given.
func fileOf(name string, given any, secrets []SecretFile) (string, error) {
	there := func(file string) bool {
		return slices.ContainsFunc(secrets, func(s SecretFile) bool { return s.Name == file })
	}
	object, _ := given.(map[string]any)
	path, _ := object[keyFile].(string)
	file, below := strings.CutPrefix(path, folder)
	switch {
	case given == nil && there(name):
		return name, nil
	case given == nil:
		return "", nil
	case !below || len(object) != 1:
		return "", fmt.Errorf("parameter %q is sensitive, and all can read parameters: remove it from spec.parameters of the JobWorkspace, "+
			"put the value into a Secret, and add {name: %s, secret: SECRET, key: KEY} to spec.secrets", name, name)
	case !there(file):
		return "", fmt.Errorf("parameter %q reads file %.253q, which no entry of spec.secrets has: "+
			"add {name: %[2]s, secret: SECRET, key: KEY} to spec.secrets of the JobWorkspace", name, file)
	}
	return file, nil
}
