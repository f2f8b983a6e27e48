package application

import (
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// OnChange is the effect of changed data on running pods.
type OnChange string

// The answers to a change that need no code in the pod.
const (
	// Files renews the files and nothing else; the default.
	Files OnChange = "files"
	// Restart also rolls the workload out once.
	Restart OnChange = "restart"
)

// The prefixes of KeyOnChange that act in the pod itself. Package injection reads what follows.
const (
	// OnChangeHTTP sends each event to a port of the pod.
	OnChangeHTTP = "http:"
	// OnChangeExec runs a command for each event in the handlers' container.
	OnChangeExec = "exec:"
	// OnChangeSignal sends a signal when the files have changed.
	OnChangeSignal = "signal:"
)

// onChange reads KeyOnChange as far as it concerns the workload.
func (p *parser) onChange(value string) {
	switch {
	case value == string(Files), value == string(Restart):
		p.declaration.OnChange = OnChange(value)
	case !hearsByItself(value):
		cure := "write files, restart, signal:NAME, http:URL or exec:COMMAND"
		word, _, _ := strings.Cut(value, ":")
		if near := spelling.Nearest(word, []string{string(Files), string(Restart), "signal", "http", "exec"}); near != "" && near != word {
			cure = "did you mean " + near + "?"
		}
		p.refuse(Problem{Key: KeyOnChange, Entry: value, Reason: "this action is unknown", Cure: cure})
	}
}

func hearsByItself(value string) bool {
	return hearsOfEvents(value) || strings.HasPrefix(value, OnChangeSignal)
}

func hearsOfEvents(value string) bool {
	return strings.HasPrefix(value, OnChangeHTTP) || strings.HasPrefix(value, OnChangeExec)
}

// OfPod reports whether an annotation is read from pods only, since it chooses what runs
// in one or where its data is sent (SAFETY.md I23).
func OfPod(key, value string) bool {
	switch key {
	case KeyHandlers, KeyBatch:
		return true
	case KeyOnChange:
		return hearsByItself(value)
	case KeyInject, KeyCopied:
		return false
	default:
		return strings.HasPrefix(key, prefixInjector)
	}
}

// HearsOfEvents reports whether an injected pod with these annotations has handlers of
// any kind, which must run at a relation's end (RELATIONS.md L4).
func HearsOfEvents(annotations map[string]string) bool {
	return annotations[KeyHandlers] != "" || hearsOfEvents(annotations[KeyOnChange])
}
