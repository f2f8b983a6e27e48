package rendering

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Selector tells by which labels a workload knows its pods.
type Selector struct {
	bundle.ID
	// Labels are equal for workloads that select the same pods.
	Labels string
}

// Selectors returns the selectors of the workloads among the objects of a namespace.
func Selectors(objects []bundle.Object, namespace string) []Selector {
	var all []Selector
	for _, o := range objects {
		id := o.ID()
		id.Namespace = cmp.Or(id.Namespace, namespace)
		switch id.Kind {
		case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet":
			if s := selector(o); s != "" {
				all = append(all, Selector{id, s})
			}
		}
	}
	return all
}

// selector returns the selector of a workload for people: its labels, or all of it as JSON.
func selector(o bundle.Object) string {
	spec, _ := o.At("spec", "selector").(fields)
	labels, _ := spec["matchLabels"].(fields)
	if len(spec) > 1 || len(labels) == 0 && len(spec) > 0 {
		written, err := json.Marshal(spec)
		if err != nil {
			return ""
		}
		return string(written)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, fmt.Sprintf("%s=%v", name, labels[name]))
	}
	return strings.Join(all, ", ")
}

// fewWorkloads is how many workloads a finding names.
const fewWorkloads = 3

// Shared lists the selectors that several workloads of one namespace have, each once: such a workload counts pods of
// others as its own where nothing else tells them apart.
func Shared(all []Selector) []Flaw {
	type key struct{ namespace, labels string }
	groups := map[key][]bundle.ID{}
	for _, w := range all {
		at := key{w.Namespace, w.Labels}
		groups[at] = append(groups[at], w.ID)
	}
	var found []Flaw
	for at, ids := range groups {
		if len(ids) < 2 {
			continue
		}
		slices.SortFunc(ids, bundle.ID.Compare)
		names := make([]string, 0, fewWorkloads)
		for _, id := range ids[1:min(len(ids), fewWorkloads)] {
			names = append(names, id.Name)
		}
		others := strings.Join(names, ", ")
		if more := len(ids) - fewWorkloads; more > 0 {
			others += fmt.Sprintf(" and %d more", more)
		}
		found = append(found, Flaw{ids[0], fmt.Sprintf("its selector (%s) is also that of %s", at.labels, others),
			"in a new installation, give each its own: selectors: PerShard in the values of a chart that has it"})
	}
	slices.SortFunc(found, func(a, b Flaw) int { return a.Object.Compare(b.Object) })
	return found
}
