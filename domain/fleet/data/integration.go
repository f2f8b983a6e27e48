package data

import (
	"fmt"
	"slices"
)

// Integration is an integration's file.
type Integration struct {
	Location    Location
	Name        string
	Description string
	Upstream    string
	// Labels have texts only; others are ignored.
	Labels  map[string]string
	Entries []Entry
	// Held lists the problems of the file. With any, nothing in it can be trusted.
	Held []Problem
}

// Entry says that an integration runs in a namespace.
type Entry struct {
	Location  Location
	Namespace Namespace
	Spec      Spec
	Sharding  Sharding
	// Fields locates the fields of the spec by name.
	Fields map[string]Location
	// Held lists problems of other files that the entry depends on.
	Held []Problem
}

// At returns the location of a field of the spec, the entry's if it is absent.
func (e Entry) At(field string) Location {
	if l, ok := e.Fields[field]; ok {
		return l
	}
	return e.Location
}

// rawIntegration is an integration's file as it is written.
type rawIntegration struct {
	Schema      string         `yaml:"$schema"`
	Labels      map[string]any `yaml:"labels"`
	Name        string         `yaml:"name" data:"required"`
	Description string         `yaml:"description"`
	Upstream    string         `yaml:"upstream"`
	Schemas     value          `yaml:"schemas"`
	PRCheck     value          `yaml:"pr_check"`
	Managed     []value        `yaml:"managed"`
	// Operate is the name of Managed in the first design.
	Operate []value `yaml:"operate"`
	// Path is written by GraphQL sources.
	Path string `yaml:"path"`
}

type rawEntry struct {
	Namespace         value        `yaml:"namespace" data:"required"`
	Spec              rawSpec      `yaml:"spec" data:"required"`
	Sharding          *rawSharding `yaml:"sharding"`
	ShardSpecOverride []value      `yaml:"shardSpecOverride"`
}

// integration reads an integration's file.
func (l library) integration(path string, options Options) Integration {
	i := Integration{Location: Location{File: path}}
	v, problems := l.root(path)
	if i.Held = problems; len(problems) > 0 {
		return i
	}
	var raw rawIntegration
	i.Held = decode(v, &raw, true)
	i.Location, i.Name, i.Description, i.Upstream = v.location(), raw.Name, raw.Description, raw.Upstream
	i.Labels = texts(raw.Labels)
	if len(raw.Managed) > 0 && len(raw.Operate) > 0 {
		i.Held = append(i.Held, v.refuse("the file has both managed and operate", "move all entries to managed")...)
	}
	for _, at := range slices.Concat(raw.Managed, raw.Operate) {
		e, found := l.entry(at, options)
		i.add(e, found)
	}
	return i
}

// add adds an entry. Its problems hold the integration if they are in its own file.
func (i *Integration) add(e Entry, problems []Problem) {
	for _, p := range problems {
		if p.Location.File == i.Location.File {
			i.Held = append(i.Held, p)
		} else {
			e.Held = append(e.Held, p)
		}
	}
	if n := e.Namespace.Path; n != "" && slices.ContainsFunc(i.Entries, func(o Entry) bool { return o.Namespace.Path == n }) {
		i.Held = append(i.Held, Problem{e.Location, fmt.Sprintf("namespace %s has two entries", n), "merge the two"})
	}
	i.Entries = append(i.Entries, e)
}

// texts returns the entries of a map that are texts.
func texts(from map[string]any) map[string]string {
	to := map[string]string{}
	for name, v := range from {
		if text, ok := v.(string); ok {
			to[name] = text
		}
	}
	return to
}

// entry reads one element of managed.
func (l library) entry(v value, options Options) (Entry, []Problem) {
	e := Entry{Location: v.location(), Fields: map[string]Location{}}
	var raw rawEntry
	problems := decode(v, &raw, true)
	problems = append(problems, e.readSpec(v, raw.Spec, options)...)
	if len(problems) > 0 {
		return e, problems
	}
	namespace, problems := l.namespace(raw.Namespace)
	sharding, more := l.sharding(v, raw)
	e.Namespace, e.Spec, e.Sharding = namespace, raw.Spec.Spec, sharding
	return e, append(problems, more...)
}

// readSpec locates the fields of the spec and checks what types do not say.
func (e *Entry) readSpec(v value, raw rawSpec, options Options) []Problem {
	fields, _ := v.child("spec").fields()
	var problems []Problem
	for _, f := range fields {
		e.Fields[f.name] = f.key
		if _, extra := raw.Extra[f.name]; extra && !slices.Contains(options.SpecFields, f.name) {
			problems = append(problems, unknown(f, options.known()))
		}
		if f.name == "extraEnv" {
			problems = append(problems, checkVariables(f.value, raw.ExtraEnv)...)
		}
	}
	return problems
}

// checkVariables checks each variable of extraEnv.
func checkVariables(v value, variables []Variable) []Problem {
	items, _ := v.items()
	var problems []Problem
	for i, item := range items {
		problems = append(problems, checkVariable(item, variables[i])...)
	}
	return problems
}
