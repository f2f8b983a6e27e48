package rendering

import (
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Missing returns the names in pods of a member that neither its namespace nor a rendering has. The namespace and the
// member's own rendering do not have lacks. The set's other members render to beside: what they bring is there in time,
// since a member whose configuration is missing waits.
func Missing(lacks []bundle.Lack, beside []bundle.Sequence) []bundle.Lack {
	var all []bundle.Lack
	for _, l := range lacks {
		l.Readings = slices.DeleteFunc(slices.Clone(l.Readings), func(r bundle.Reading) bool { return supplied(r, beside) })
		if len(l.Readings) == 0 {
			continue
		}
		l.Own = l.Own || supplied(bundle.Reading{ID: l.ID}, beside)
		l.Keys = keys(l.Readings)
		all = append(all, l)
	}
	return all
}

// supplied reports whether a rendering has what a workload reads.
func supplied(r bundle.Reading, by []bundle.Sequence) bool {
	return slices.ContainsFunc(by, func(s bundle.Sequence) bool { return s.Supplies(r) })
}

// keys returns the keys that workloads read, each once and sorted.
func keys(readings []bundle.Reading) []string {
	var all []string
	for _, r := range readings {
		if r.Key != "" {
			all = append(all, r.Key)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
