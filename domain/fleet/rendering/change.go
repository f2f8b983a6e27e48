package rendering

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// The effects of changes that no update brings about.
const (
	// Recreate: the object is deleted and made again, once a person has confirmed it.
	Recreate = "recreate"
	// RecreateKeepingClaim: its claims stay as they are too.
	RecreateKeepingClaim = "recreate, claim unchanged"
)

// kinds are the kinds of workloads. One can take the place of another one that has its name.
//
//nolint:gochecknoglobals // a table
var kinds = []string{"Deployment", "StatefulSet", "DaemonSet", "CronJob", "DeploymentConfig"}

// Effects returns, by object, the effects of a change that are more than an update.
func Effects(before, after []bundle.Object) map[bundle.ID]string {
	was, is := map[bundle.ID]bundle.Object{}, map[bundle.ID]bundle.Object{}
	for _, o := range before {
		was[o.ID()] = o
	}
	for _, o := range after {
		is[o.ID()] = o
	}
	effects := map[bundle.ID]string{}
	for id, o := range is {
		old, there := was[id]
		switch {
		case there:
			effects[id] = recreated(old, o)
		case slices.Contains(kinds, id.Kind):
			effects[id] = successor(id, was, is)
		}
		if effects[id] == "" {
			delete(effects, id)
		}
	}
	return effects
}

// recreated returns the effect of a change that the API server refuses as an update; "" for others.
func recreated(before, after bundle.Object) string {
	kind := after.ID().Kind
	switch {
	case kind == "StatefulSet" && !reflect.DeepEqual(claims(before), claims(after)):
		return RecreateKeepingClaim
	case slices.Contains([]string{"StatefulSet", "Deployment", "DaemonSet"}, kind) &&
		!reflect.DeepEqual(before.At("spec", "selector"), after.At("spec", "selector")):
		return Recreate
	}
	return ""
}

// claims returns what the claims of a StatefulSet are made of, by name.
func claims(o bundle.Object) map[string]any {
	all := map[string]any{}
	for _, c := range items(o.At("spec", "volumeClaimTemplates")) {
		all[bundle.Object(c).Text("metadata", "name")] = c["spec"]
	}
	return all
}

// successor returns the effect of a workload that takes the place of another kind; "" for others.
func successor(id bundle.ID, was, is map[bundle.ID]bundle.Object) string {
	var gone []bundle.ID
	for other := range was {
		if _, stays := is[other]; !stays && other.Name == id.Name && other.Namespace == id.Namespace && slices.Contains(kinds, other.Kind) {
			gone = append(gone, other)
		}
	}
	if len(gone) == 0 {
		return ""
	}
	slices.SortFunc(gone, func(a, b bundle.ID) int { return cmp.Compare(a.Kind, b.Kind) })
	return fmt.Sprintf("takes the place of %s, which is deleted first", gone[0])
}
