package bundle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Permission is one without which a plan cannot be carried out.
type Permission struct {
	Verb, Group, Resource string
	// Namespace is empty for what belongs to the whole cluster.
	Namespace string
}

// Compare orders permissions by place, then by what they are about.
func (n Permission) Compare(other Permission) int {
	return cmp.Or(cmp.Compare(n.Namespace, other.Namespace), cmp.Compare(n.Group, other.Group),
		cmp.Compare(n.Resource, other.Resource), cmp.Compare(n.Verb, other.Verb))
}

// String describes the permission as "create deployments.apps in namespace shop".
func (n Permission) String() string {
	where := " in namespace " + n.Namespace
	if n.Namespace == "" {
		where = " in the whole cluster"
	}
	return n.Verb + " " + thing(n.Group, n.Resource) + where
}

// LackingError says which permissions the acting account lacks, all of them at once
// (BUNDLES.md 9).
type LackingError struct {
	// Account is the user that the API server knows.
	Account string
	Lacks   []Permission
}

// Error lists what is lacking by namespace, each with the rules that would give it.
func (e *LackingError) Error() string {
	var lines []string
	for _, needs := range e.places() {
		lines = append(lines, place(needs))
	}
	return fmt.Sprintf("cannot plan: %s lacks permissions that this needs:\n%s", e.Account, strings.Join(lines, "\n"))
}

// places returns what is lacking by namespace, sorted and each once.
func (e *LackingError) places() [][]Permission {
	needs := slices.Compact(slices.SortedFunc(slices.Values(e.Lacks), Permission.Compare))
	var all [][]Permission
	for begin := 0; begin < len(needs); {
		end := begin
		for end < len(needs) && needs[end].Namespace == needs[begin].Namespace {
			end++
		}
		all = append(all, needs[begin:end])
		begin = end
	}
	return all
}

// allowing returns the rules that allow what is lacking in one place.
func allowing(needs []Permission) []Rule {
	var single []Rule
	for _, n := range needs {
		single = append(single, Rule{Verbs: []string{n.Verb}, Groups: []string{n.Group}, Resources: []string{n.Resource}})
	}
	return joined(joined(single, verbs), resources)
}

// place says what is lacking in one namespace, or in the whole cluster.
func place(needs []Permission) string {
	var what []string
	var give []map[string][]string
	for _, r := range allowing(needs) {
		for _, resource := range r.Resources {
			what = append(what, strings.Join(r.Verbs, ", ")+" "+thing(r.Groups[0], resource))
		}
		give = append(give, map[string][]string{"apiGroups": r.Groups, "resources": r.Resources, "verbs": r.Verbs})
	}
	text, err := json.Marshal(give)
	if err != nil {
		return "" // texts alone: there is no such error
	}
	where, kind := "in namespace "+needs[0].Namespace, role
	if needs[0].Namespace == "" {
		where, kind = "in the whole cluster", clusterRole
	}
	return fmt.Sprintf("- %s: %s: bind it a %s with rules: %s", where, strings.Join(what, "; "), kind, text)
}
