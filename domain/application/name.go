package application

import (
	"regexp"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// maxName is the longest endpoint, interface or application name, in bytes: it
// must fit a label and a file name beside an id.
const maxName = 63

var (
	endpointName    = regexp.MustCompile(`^[a-z]([a-z0-9_-]*[a-z0-9])?$`)
	applicationName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	secretName      = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
)

// CheckInterface returns why name cannot name an interface, and what to write instead; "" if it can.
func CheckInterface(name string) (reason, cure string) { return checkEndpoint(name) }

// checkEndpoint returns why name cannot name an endpoint or an interface (RELATIONS.md M5), or "".
func checkEndpoint(name string) (reason, cure string) {
	switch {
	case name == "":
		return "a name is missing", "write a name such as db"
	case len(name) > maxName:
		return "a name has at most 63 characters", "shorten it"
	case !endpointName.MatchString(name):
		return "a name consists of lower-case letters, digits, '-' and '_', begins with a letter and does not end with '-' or '_'",
			suggestName(name, "_-")
	case name == "juju" || strings.HasPrefix(name, "juju-"):
		return "juju and names that begin with juju- are reserved", "choose another name"
	default:
		return "", ""
	}
}

// checkApplication returns why name cannot name an application, or "".
func checkApplication(name string) (reason, cure string) {
	switch {
	case name == "":
		return "the application's name is missing", "write the name of a Service or workload"
	case len(name) > maxName:
		return "a name has at most 63 characters", "shorten it"
	case !applicationName.MatchString(name):
		return "an application's name consists of lower-case letters, digits and '-', like that of a Service", suggestName(name, "-")
	default:
		return "", ""
	}
}

// maxSecret is the longest name of a Secret.
const maxSecret = 253

// checkSecret returns why name cannot name a Secret, or "".
func checkSecret(name string) (reason, cure string) {
	switch {
	case name == "":
		return "the Secret's name is missing", "write the name of a Secret of this namespace"
	case len(name) > maxSecret:
		return "a name has at most 253 characters", "shorten it"
	case !secretName.MatchString(name):
		return "a Secret's name consists of lower-case letters, digits, '-' and '.', and begins and ends with a letter or digit",
			"write the name of a Secret of this namespace"
	default:
		return "", ""
	}
}

// suggestName turns what was written into the nearest name that is allowed.
func suggestName(name, also string) string {
	near := spelling.Name(name, also)
	if near == "" || !endpointName.MatchString(near) {
		return "choose a name such as db"
	}
	return "write " + near
}
