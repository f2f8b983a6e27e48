package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// MaxVariable bounds the value of a variable, in bytes.
const MaxVariable = 4096

// variableName matches the names of variables.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,252}$`)

// ParseVariable reads NAME=VALUE: a variable that an operator gives to each run.
func ParseVariable(text string) (name, value string, err error) {
	name, value, found := strings.Cut(text, "=")
	switch {
	case !found:
		return "", "", fmt.Errorf("variable %.253q has no value: write NAME=VALUE", text)
	case !variableName.MatchString(name):
		return "", "", fmt.Errorf("%.253q cannot name a variable: use letters, digits and _, and begin with no digit", name)
	case Reserved(name) || slices.ContainsFunc(Environment(Run{}), func(one string) bool { return strings.HasPrefix(one, name+"=") }):
		return "", "", fmt.Errorf("variable %s belongs to Orcon: use another name", name)
	case len(value) > MaxVariable || strings.ContainsRune(value, 0):
		return "", "", fmt.Errorf("the value of variable %s is longer than %d bytes, or has one that is 0: use a file", name, MaxVariable)
	}
	return name, value, nil
}
