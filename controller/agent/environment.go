package agent

import (
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// Environment returns the text of the file from which the kubelet takes the
// containers' variables, and how many have a value that only the files can hold.
//
// The form is that of the kubelet of Kubernetes 1.36 (pkg/kubelet/util/env, ParseEnv): NAME='value',
// literal, over several lines if need be. One line that it cannot read would keep every container from
// starting, so values that injection.EnvValue refuses are left out.
func (v Projection) Environment(variables []injection.Variable) (text string, left int) {
	var b strings.Builder
	if v.Stale {
		b.WriteString(injection.StaleVariable + "='true'\n")
	}
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

// value returns the value of a variable. A granted value is only in a variable that tengu.io/env requests;
// else it is in files alone (SAFETY.md P7).
func (v Projection) value(r conversation.Relation, variable injection.Variable) string {
	if content, there := v.Contents[r.Granted.ID].Files[variable.Key]; there && variable.Asked {
		return content
	}
	if value := v.View.Bag(r.RemoteBag)[variable.Key]; !refers(r, value) {
		return value
	}
	return ""
}
