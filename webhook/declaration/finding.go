package declaration

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/review"
)

// finding is a problem and where it is.
type finding struct {
	application.Problem
	// path is the field that holds the key; empty if the key is a path itself.
	path string
}

// Error names the field, the entry, the reason and the cure.
func (f finding) Error() string {
	if f.path == "" {
		return f.Problem.Error()
	}
	return f.path + "[" + f.Key + "]" + strings.TrimPrefix(f.Problem.Error(), f.Key)
}

// findings judges the places of an object. On an update only what this request
// changed counts: what was admitted before must not keep anybody from changing
// something else.
func findings(now, before []place, operation string) []finding {
	var found []finding
	for i, p := range now {
		fresh := p.judge()
		if operation == review.Update {
			fresh = changed(fresh, p, before[i])
		}
		found = append(found, fresh...)
	}
	return found
}

func changed(found []finding, now, before place) []finding {
	known := map[application.Problem]bool{}
	for _, f := range before.judge() {
		known[f.Problem] = true
	}
	return slices.DeleteFunc(found, func(f finding) bool {
		return known[f.Problem] && now.value(f.Key) == before.value(f.Key)
	})
}

// judge returns what is wrong with what is written in the place.
func (p place) judge() []finding {
	declared, problems := application.Parse(p.labels, union(p.beside, p.annotations))
	var consumes []application.Endpoint
	for _, e := range declared.Endpoints {
		if e.Role == application.Requirer {
			consumes = append(consumes, e)
		}
	}
	_, left := injection.Variables(consumes, declared.Env)
	problems = append(problems, left...)
	if p.pod {
		_, wrong := injection.ParseOptions(p.annotations, injection.DefaultConfig().Agent)
		problems = append(problems, wrong...)
	}
	if p.elsewhere {
		problems = append(problems, p.misplaced()...)
	}
	var found []finding
	for _, problem := range problems {
		if p.wrote(problem.Key) {
			found = append(found, finding{Problem: problem, path: p.field(problem.Key)})
		}
	}
	return found
}

// misplaced warns of keys that count on pods alone (SAFETY.md I23).
func (p place) misplaced() []application.Problem {
	var problems []application.Problem
	for _, key := range slices.Sorted(maps.Keys(p.annotations)) {
		if strings.HasPrefix(key, "injector.tengu.io/") && key != application.KeyInject && key != application.KeyCopied {
			problems = append(problems, application.Problem{Key: key, Reason: "it does nothing here, because such keys are read from pods alone", Cure: "write it in the pod template", Warning: true})
		}
	}
	if _, wrong := injection.ParseOptions(map[string]string{application.KeyInject: p.annotations[application.KeyInject]}, injection.AgentConfig{}); p.annotations[application.KeyInject] != "" {
		problems = append(problems, wrong...)
	}
	return problems
}

// refusals joins what the object must be refused for.
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
