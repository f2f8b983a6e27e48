package tool

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// goalState tells which units and relations are or will be.
type goalState struct{}

func (t *goalState) declare(f *flags) { f.prints(asYAML) }

func (t *goalState) take(args []string) error { return tooMany("goal-state", args) }

func (t *goalState) run(s session) (any, error) {
	goal, err := s.Surroundings.Goal()
	if err != nil {
		return nil, err
	}
	related := map[string][]Standing{}
	for _, each := range goal.Relations {
		related[each.Endpoint] = append(related[each.Endpoint], each.Related...)
	}
	relations := make(fields, 0, len(related))
	for _, endpoint := range slices.Sorted(maps.Keys(related)) {
		relations = append(relations, field{key: endpoint, value: standings(related[endpoint])})
	}
	return fields{{key: "units", value: standings(goal.Units)}, {key: "relations", value: relations}}, nil
}

// sinceForm is how Juju writes since when something stands.
const sinceForm = "2006-01-02 15:04:05Z"

func standings(all []Standing) fields {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Standing) int { return compareNames(a.Name, b.Name) })
	named := make(fields, 0, len(all))
	for _, s := range all {
		about := fields{{key: "status", value: s.Status}}
		if !s.Since.IsZero() {
			about = append(about, field{key: "since", value: s.Since.UTC().Format(sinceForm)})
		}
		named = append(named, field{key: s.Name, value: about})
	}
	return named
}

// compareNames orders applications and units: an application before its units,
// units by number.
func compareNames(a, b string) int {
	return cmp.Or(asUnit(a).Compare(asUnit(b)), strings.Compare(a, b))
}

func asUnit(name string) conversation.Unit {
	if unit, err := conversation.ParseUnit(name); err == nil {
		return unit
	}
	return conversation.Unit{Application: name, Number: -1}
}
