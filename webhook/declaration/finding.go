package declaration

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/review"
)

// finding is a problem and where it is.
type finding struct {
	application.Problem
	// path is the field that holds the key; empty if the key is a path itself.
	path string
	// about is the value that it is about, which no message has.
	about string
}

// namespacePolicy holds the rules for the objects of one namespace, besides the rules for all.
type namespacePolicy struct {
	interfaces schema.Catalog
	mode       schema.Mode
	// agent has the installation's settings, over which pods write theirs.
	agent injection.AgentConfig
}

// Error names the field, the entry, the reason and the cure.
func (f finding) Error() string {
	if f.path == "" {
		return f.Problem.Error()
	}
	return f.path + "[" + f.Key + "]" + strings.TrimPrefix(f.Problem.Error(), f.Key)
}

// findings judges the places of an object. On an update only what this request changed
// counts: what was admitted before must not prevent another change.
func (l namespacePolicy) findings(now, before []place, operation string) []finding {
	var found []finding
	for i, p := range now {
		fresh := l.judge(p)
		if operation == review.Update && i < len(before) {
			known := l.judge(before[i])
			fresh = slices.DeleteFunc(fresh, func(f finding) bool { return slices.Contains(known, f) })
		}
		found = append(found, fresh...)
	}
	return found
}

// consumed returns the endpoints on which something is required.
func consumed(d application.Declaration) []application.Endpoint {
	return slices.DeleteFunc(slices.Clone(d.Endpoints), func(e application.Endpoint) bool { return e.Role != application.Requirer })
}

// judge returns what is wrong with what is written in a place.
func (l namespacePolicy) judge(p place) []finding {
	if p.unread {
		return p.unreadKeys()
	}
	declared, problems := application.Parse(p.labels, union(p.beside, p.annotations))
	consumes := consumed(declared)
	_, left := injection.Variables(consumes, injection.Fields(l.interfaces.Fields).Of(consumes), declared.Env)
	problems = append(problems, left...)
	if p.pod != nil {
		_, wrong := injection.ParseOptions(p.shape(), l.agent)
		problems = append(problems, wrong...)
	}
	if p.elsewhere {
		problems = append(problems, p.misplaced()...)
	}
	problems = append(problems, p.unheeded()...)
	found := p.portless(declared)
	for _, f := range l.interfaces.Remarks(declared, l.mode) {
		found = append(found, finding{Problem: f.Problem, about: f.About})
	}
	for _, problem := range problems {
		found = append(found, finding{Problem: problem, about: p.value(problem.Key)})
	}
	found = slices.DeleteFunc(found, func(f finding) bool { return !p.wrote(f.Key) })
	for i := range found {
		found[i].path = p.field(found[i].Key)
	}
	return found
}

// needsPort is the interface whose consumers need a port: those of others know one.
const needsPort = "http"

// portless warns of an http endpoint of a Service that has no port and gives none in its
// data: what consumers receive is complete, and has no port and no url.
func (p place) portless(declared application.Declaration) []finding {
	var found []finding
	for _, e := range declared.Endpoints {
		data := declared.Data[e.Name]
		if !p.noPort || e.Role != application.Provider || e.Interface != needsPort || data["port"] != "" || data["url"] != "" {
			continue
		}
		found = append(found, finding{Problem: application.Problem{
			Key: e.Role.Key(), Entry: e.Name, Reason: "the Service has no port, so that consumers receive its host without port and url",
			Cure: "add spec.ports, or a port to its data", Warning: true,
		}})
	}
	return found
}

// unreadKeys warns of keys where none counts (INJECTION.md I1).
func (p place) unreadKeys() []finding {
	var found []finding
	for _, key := range slices.Sorted(maps.Keys(p.annotations)) {
		if application.Declares(key) || key == application.KeyInject || application.OfPod(key, p.annotations[key]) {
			found = append(found, finding{path: p.field(key), about: p.value(key), Problem: application.Problem{Key: key, Warning: true,
				Reason: "it has no effect here", Cure: "write it in the pod template"}})
		}
	}
	return found
}

// misplaced warns of keys that count on pods only (SAFETY.md I23).
func (p place) misplaced() []application.Problem {
	var problems []application.Problem
	for _, key := range slices.Sorted(maps.Keys(p.annotations)) {
		if application.OfPod(key, p.annotations[key]) {
			problems = append(problems, application.Problem{Key: key, Reason: "it has no effect here, because it is read from pods only",
				Cure: "write it in the pod template", Warning: true})
		}
	}
	if out := p.annotations[application.KeyInject]; out != "" {
		_, wrong := injection.ParseOptions(place{annotations: map[string]string{application.KeyInject: out}}.shape(), injection.AgentConfig{})
		problems = append(problems, wrong...)
	}
	return problems
}

// unheeded warns of keys that count on Services alone, or on pods alone (INJECTION.md I1).
func (p place) unheeded() []application.Problem {
	var problems []application.Problem
	if _, labelled := p.labels[application.KeyProvides]; labelled && !p.service {
		problems = append(problems, application.Problem{Key: application.KeyProvides, Warning: true,
			Reason: "the label has no effect here, because it is read from Services only", Cure: "write it as an annotation"})
	}
	if _, named := p.annotations[application.KeyApplication]; named && p.service {
		problems = append(problems, application.Problem{Key: application.KeyApplication, Warning: true,
			Reason: "it has no effect on a Service", Cure: "write it in the pod template"})
	}
	return problems
}

// refusals joins the findings that the object must be refused for.
func refusals(found []finding) error {
	var refused []error
	for _, f := range found {
		if !f.Warning {
			refused = append(refused, f)
		}
	}
	return errors.Join(refused...)
}

func warnings(found []finding) []finding {
	return slices.DeleteFunc(slices.Clone(found), func(f finding) bool { return !f.Warning })
}
