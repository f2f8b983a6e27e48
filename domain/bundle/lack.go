package bundle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Lack is a ConfigMap, Secret or ServiceAccount that workloads need and that does not exist, or
// lacks keys.
type Lack struct {
	ID ID
	// Keys are those that are missing, sorted; none where it is enough that it is there.
	Keys []string
	// Readings lists the workloads that need it.
	Readings []Reading
	// There says that the cluster has the object, Own that the bundle has it.
	There, Own bool
	// Unborn says that its namespace is made by the bundle.
	Unborn bool
}

// Lacks returns what the plan's workloads read and neither the bundle nor the cluster has,
// sorted by name. keys are the names of the keys of those objects that the cluster has. A
// Job that does not run reads nothing.
func (p Plan) Lacks(keys map[ID][]string) []Lack {
	own := map[ID]Object{}
	for _, item := range p.Sequence {
		own[item.ID] = item.Object
	}
	lacks, made := map[ID]Lack{}, p.Sequence.making()
	for _, n := range p.readings() {
		object, brought := own[n.ID]
		has, there := keys[n.ID]
		switch {
		case made.gives(n.ID), n.Key == "" && (brought || there), slices.Contains(has, n.Key), object.holds(n.Key):
			continue
		}
		lack := lacks[n.ID]
		lack.ID, lack.There, lack.Own, lack.Unborn = n.ID, there, brought, p.creates(ID{Kind: "Namespace", Name: n.ID.Namespace})
		lack.Readings = append(lack.Readings, n)
		if n.Key != "" && !slices.Contains(lack.Keys, n.Key) {
			lack.Keys = append(lack.Keys, n.Key)
			slices.Sort(lack.Keys)
		}
		lacks[n.ID] = lack
	}
	return slices.SortedFunc(maps.Values(lacks), func(a, b Lack) int { return a.ID.Compare(b.ID) })
}

// Supplies reports whether the sequence has what a workload reads, or makes it while it is installed.
func (s Sequence) Supplies(r Reading) bool {
	has := func(i Item) bool { return i.ID == r.ID && (r.Key == "" || i.Object.holds(r.Key)) }
	return s.making().gives(r.ID) || slices.ContainsFunc(s, has)
}

// readings are those of the sequence, without Jobs that do not run.
func (p Plan) readings() []Reading {
	still := map[ID]bool{}
	for _, a := range p.Actions {
		still[a.ID] = a.Verb == None
	}
	return slices.DeleteFunc(slices.Clone(p.Sequence), func(i Item) bool { return i.job() && still[i.ID] }).Readings()
}

func (p Plan) creates(id ID) bool {
	return slices.ContainsFunc(p.Actions, func(a Action) bool { return a.ID == id && a.Verb == Create })
}

// holds reports whether a ConfigMap or Secret has a key.
func (o Object) holds(key string) bool {
	return slices.ContainsFunc([]string{"data", "binaryData", "stringData"}, func(field string) bool {
		_, found := o.below(field)[key]
		return found
	})
}

// String describes what is missing, which workloads need it, and the cure.
func (l Lack) String() string {
	what, keys := l.ID.String()+" does not exist", strings.Join(l.Keys, ", ")
	switch {
	case l.There || l.Own:
		what = fmt.Sprintf("%s has no key %s", l.ID, keys)
	case keys != "":
		what += " (it needs keys " + keys + ")"
	}
	var by []string
	for _, n := range l.Readings {
		if line := fmt.Sprintf("\n    needed by %s: %s", n.Workload, n.Field); !slices.Contains(by, line) {
			by = append(by, line)
		}
	}
	return fmt.Sprintf("%s: %s%s", what, l.Cure(), strings.Join(by, ""))
}

// Cure returns the remedy: a command, if one helps.
func (l Lack) Cure() string {
	kind := strings.ToLower(l.ID.Kind)
	switch {
	case l.Own:
		return "add it to the bundle's own"
	case l.Unborn:
		return "add it to the bundle, which creates its namespace"
	case l.There:
		field := map[string]string{"secret": "stringData", "configmap": "data"}[kind]
		return fmt.Sprintf("kubectl patch %s %s -n %s --type merge -p '{%q:{%s}}'", kind, l.ID.Name, l.ID.Namespace, field, l.each("%q:\"…\"", ","))
	}
	if kind == "secret" {
		kind = "secret generic"
	}
	args := l.each("--from-literal=%s=…", " ")
	switch {
	case len(l.Keys) > 0:
	case l.by(account):
		return fmt.Sprintf("add it to the bundle, or: kubectl create serviceaccount %s -n %s", l.ID.Name, l.ID.Namespace)
	case l.by(pullSecrets):
		kind, args = "secret docker-registry", "--docker-server=… --docker-username=… --docker-password=…"
	case l.by(envFrom):
		args = "--from-env-file=…"
	default:
		args = "--from-file=…"
	}
	return fmt.Sprintf("kubectl create %s %s -n %s %s", kind, l.ID.Name, l.ID.Namespace, args)
}

// each writes all missing keys in one form.
func (l Lack) each(form, between string) string {
	var all []string
	for _, key := range l.Keys {
		all = append(all, fmt.Sprintf(form, key))
	}
	return strings.Join(all, between)
}

// by reports whether it is needed by a field of that name.
func (l Lack) by(field string) bool {
	return slices.ContainsFunc(l.Readings, func(n Reading) bool { return strings.HasSuffix(n.Field, "."+field) })
}

// expected lists the kinds that may be missing.
//
//nolint:gochecknoglobals // a table
var expected = []string{"ConfigMap", "Secret", "ServiceAccount"}

// Expecting returns the lacks without those that a user expects to be made during the installation, each named as
// Kind/name or Kind/namespace/name.
func Expecting(lacks []Lack, names ...string) ([]Lack, error) {
	rest := slices.Clone(lacks)
	for _, name := range names {
		target, err := parseTarget(name)
		if err != nil {
			return nil, fmt.Errorf("cannot expect: %w", err)
		}
		if !slices.Contains(expected, target.Kind) {
			return nil, fmt.Errorf("cannot expect %q: write %s", name, strings.Join(expected, "/NAME, ")+"/NAME")
		}
		rest = slices.DeleteFunc(rest, func(l Lack) bool { return target.names(l.ID) })
	}
	return rest, nil
}

// LackError says that workloads could not start, for want of configuration.
type LackError struct{ Lacks []Lack }

// Error lists all that is missing, at once.
func (e *LackError) Error() string {
	lines := []string{"the workloads read configuration that does not exist:"}
	for _, l := range e.Lacks {
		lines = append(lines, l.String())
	}
	return strings.Join(lines, "\n  ")
}
