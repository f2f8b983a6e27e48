package agent

import (
	"slices"
	"strings"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// envFile is the file from which the kubelet takes the containers' variables.
type envFile struct {
	file File
	// written is the text as last written, also by a process before this one; nil if that is not known.
	written *string
	// before has the variables that a process before this one has written, until all relations are read; else nil.
	before map[string]string
}

// recall reads what a process before this one has written.
func (e *envFile) recall() {
	content, err := e.file.Read()
	if err != nil || content == nil {
		return
	}
	text := strings.TrimPrefix(string(content), canary)
	e.written, e.before = &text, parseVariables(text)
}

// write makes the file have the variables of a projection.
func (e *envFile) write(v Projection, variables []injection.Variable) error {
	v.Before = e.before
	text, left := v.Environment(variables)
	if !v.lacks(variables) {
		e.before = nil
	}
	if e.written != nil && *e.written == text {
		return nil
	}
	if err := e.file.Replace([]byte(canary + text)); err != nil {
		return err
	}
	e.written = &text
	if left > 0 {
		glog.Warningf("%d variables are left out: their values cannot be environment variables; read them from the files", left)
	}
	return nil
}

// canary is the line of the env file that shows whether the kubelet reads it.
const canary = injection.CanaryVariable + "='" + injection.CanaryValue + "'\n"

// parseVariables reads what Environment wrote.
func parseVariables(text string) map[string]string {
	all := map[string]string{}
	for {
		name, rest, found := strings.Cut(text, "='")
		value, next, closed := strings.Cut(rest, "'\n")
		if !found || !closed {
			return all
		}
		all[name], text = value, next
	}
}

// lacks reports whether the value of a variable is not known, since its relation's Secret is not read.
func (v Projection) lacks(variables []injection.Variable) bool {
	return slices.ContainsFunc(variables, func(variable injection.Variable) bool {
		r, there := v.primary(variable.Endpoint)
		return there && !v.read(r)
	})
}

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
// else it is in files alone (SAFETY.md P7). That of a relation that is not read stays as it was before.
func (v Projection) value(r conversation.Relation, variable injection.Variable) string {
	if v.Before != nil && !v.read(r) {
		return v.Before[variable.Name]
	}
	if content, there := v.Contents[r.Granted.ID].Files[variable.Key]; there && variable.Asked {
		return content
	}
	if value := v.View.Bag(r.RemoteBag)[variable.Key]; !refers(r, value) {
		return value
	}
	return ""
}
