package bundle

import "slices"

// selectors are those of the labels by which a role has the rules of others.
func selectors(role Object) []Object {
	return elements(role.At("aggregationRule", "clusterRoleSelectors"))
}

// selected reports whether a role has the labels of one of some selectors.
func selected(by []Object, role Object) bool {
	return slices.ContainsFunc(by, func(selector Object) bool { return selects(selector, role.below("metadata", "labels")) })
}

// selects reports whether a selector fits labels. An empty one fits all.
func selects(selector Object, labels map[string]any) bool {
	for key, value := range selector.below("matchLabels") {
		if is, has := labels[key]; !has || is != value {
			return false
		}
	}
	return !slices.ContainsFunc(elements(selector["matchExpressions"]), func(e Object) bool { return !expressed(e, labels) })
}

// expressed reports whether an expression of a selector holds for labels.
func expressed(e Object, labels map[string]any) bool {
	_, has := labels[e.Text("key")]
	among := has && slices.Contains(texts(e["values"]), Object(labels).Text(e.Text("key")))
	switch e.Text("operator") {
	case "In":
		return among
	case "NotIn":
		return !among
	case "Exists":
		return has
	default: // DoesNotExist
		return !has
	}
}
