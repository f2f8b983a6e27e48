package application

import (
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// Reference names an application to relate to, as an entry of
// tengu.io/relations: [endpoint=]application[.namespace][:endpoint].
type Reference struct {
	// Endpoint is the local endpoint; empty to infer it (RELATIONS.md M2).
	Endpoint string
	// Application is the remote application, or a Service that joins it.
	Application string
	// Namespace is the remote namespace; empty for the same one.
	Namespace string
	// RemoteEndpoint is the remote endpoint; empty to infer it.
	RemoteEndpoint string
}

// String returns the reference as it is written in an annotation.
func (r Reference) String() string {
	text := r.Application
	if r.Endpoint != "" {
		text = r.Endpoint + "=" + text
	}
	if r.Namespace != "" {
		text += "." + r.Namespace
	}
	if r.RemoteEndpoint != "" {
		text += ":" + r.RemoteEndpoint
	}
	return text
}

// ParseRelations reads the value of tengu.io/relations. On problems it returns the references that are right.
func ParseRelations(text string) ([]Reference, []Problem) {
	var (
		references []Reference
		problems   []Problem
		seen       = map[Reference]bool{}
	)
	entries, tooMany := splitEntries(KeyRelations, text)
	if tooMany != nil {
		return nil, []Problem{*tooMany}
	}
	for _, entry := range entries {
		entry = strings.TrimSpace(entry)
		reference, problem := parseReference(entry)
		if problem == nil && seen[reference] {
			problem = &Problem{Reason: "the same relation is named twice", Cure: "name it once"}
		}
		if problem != nil {
			problem.Key, problem.Entry = KeyRelations, entry
			near := spelling.Entry(entry, func(text string) bool {
				_, wrong := parseReference(text)
				return wrong == nil
			})
			if near != "" {
				problem.Cure = "write " + near
			}
			problems = append(problems, *problem)
			continue
		}
		seen[reference] = true
		references = append(references, reference)
	}
	return references, problems
}

func parseReference(entry string) (Reference, *Problem) {
	var r Reference
	if entry == "" {
		return r, &Problem{Reason: "an entry is empty", Cure: "write names separated by single commas, such as sse-endpoint,db-endpoint"}
	}
	rest := entry
	if local, after, found := strings.Cut(rest, "="); found {
		if reason, cure := checkEndpoint(local); reason != "" {
			return r, &Problem{Reason: "the endpoint before '=': " + reason, Cure: cure}
		}
		r.Endpoint, rest = local, after
	}
	if before, remote, found := strings.Cut(rest, ":"); found {
		if reason, cure := checkEndpoint(remote); reason != "" {
			return r, &Problem{Reason: "the endpoint after ':': " + reason, Cure: cure}
		}
		r.RemoteEndpoint, rest = remote, before
	}
	name, namespace, elsewhere := strings.Cut(rest, ".")
	if reason, cure := checkApplication(name); reason != "" {
		return r, &Problem{Reason: reason, Cure: cure}
	}
	r.Application = name
	if elsewhere {
		if reason, cure := checkApplication(namespace); reason != "" {
			return r, &Problem{Reason: "the namespace after '.': " + reason, Cure: cure}
		}
		r.Namespace = namespace
	}
	return r, nil
}
