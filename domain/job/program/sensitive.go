package program

import (
	"fmt"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// A sensitive parameter is an object whose member keyFile is the path of a file of folder.
const (
	keyFile = "fromFile"
	folder  = "/run/orcon/secrets/"
)

// fileOf returns the name of the file that has the value of a sensitive parameter: the one that is given, or the one of its
// name; "" for none. Errors do not repeat what is given.
func fileOf(name string, given any, secrets []run.SecretFile) (string, error) {
	there := func(file string) bool {
		return slices.ContainsFunc(secrets, func(s run.SecretFile) bool { return s.Name == file })
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
