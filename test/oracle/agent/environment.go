package agent

import (
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// Environment returns the text of the file from which the kubelet takes the
// containers' variables, and how many have a value that only the files can hold.
//
// The form is what the kubelet of Kubernetes 1.36 reads (pkg/kubelet/util/env,
// ParseEnv): NAME='value', taken literally and over several lines if need be. One
// line it cannot read would keep every container from starting, therefore what
// injection.EnvValue refuses is left out.
func (v View) Environment(variables []injection.Variable) (text string, left int) {
	var b strings.Builder
	total := 0
	for _, variable := range variables {
		r, ok := v.primary(variable.Endpoint)
		value := v.value(r, variable)
		if !ok || value == "" {
			continue
		}
		total += len(variable.Name) + len(value)
		if _, fits := injection.EnvValue(value); !fits || total > injection.MaxEnvTotal {
			total -= len(variable.Name) + len(value)
			left++
			continue
		}
		b.WriteString(variable.Name + "='" + value + "'\n")
	}
	return b.String(), left
}

// value is what a variable holds. What is granted is in one that asks for it by
// tengu.io/env, and else in files only (SAFETY.md P7).
func (v View) value(r Relation, variable injection.Variable) string {
	if content, there := v.Contents[r.Granted.ID].Files[variable.Key]; there && variable.Asked {
		return content
	}
	if value := r.Bag[variable.Key]; !r.refers(value) {
		return value
	}
	return ""
}
