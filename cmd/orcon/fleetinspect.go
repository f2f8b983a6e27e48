package main

import (
	"maps"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/rendering"
)

// inspection holds the findings of rendered members (FLEET.md C3).
type inspection struct {
	found     []data.Problem
	selectors []rendering.Selector
	// declared locates the declarations of workloads.
	declared map[bundle.ID]data.Location
}

// inspect returns the findings of the objects of a member.
func inspect(m fleetMember, objects []bundle.Object) inspection {
	i := inspection{selectors: rendering.Selectors(objects, m.Namespace.Name), declared: map[bundle.ID]data.Location{}}
	for _, f := range rendering.Flaws(objects) {
		i.found = append(i.found, problem(m.Location, f))
	}
	for _, w := range i.selectors {
		i.declared[w.ID] = m.Location
	}
	return i
}

// add adds the findings of another member.
func (i *inspection) add(other inspection) {
	i.found = append(i.found, other.found...)
	i.selectors = append(i.selectors, other.selectors...)
	if i.declared == nil {
		i.declared = map[bundle.ID]data.Location{}
	}
	maps.Copy(i.declared, other.declared)
}

// problems returns all findings, those of several members together at last.
func (i *inspection) problems() []data.Problem {
	all := slices.Clone(i.found)
	for _, f := range rendering.Shared(i.selectors) {
		all = append(all, problem(i.declared[f.Object], f))
	}
	return all
}

// problem returns a finding with the location of the declaration.
func problem(at data.Location, f rendering.Flaw) data.Problem {
	return data.Problem{Location: at, Reason: f.Object.String() + ": " + f.Reason, Cure: f.Cure}
}
