package bundle

import "strings"

// Roles returns what gives the account all that it lacks: for each namespace a Role and its binding, for the whole cluster
// a ClusterRole and its binding, all of one name.
func (e *LackingError) Roles(name string) []Object {
	var all []Object
	for _, needs := range e.places() {
		kind, namespace := role, needs[0].Namespace
		if namespace == "" {
			kind = clusterRole
		}
		var rules []any
		for _, r := range allowing(needs) {
			rules = append(rules, map[string]any{"apiGroups": words(r.Groups), "resources": words(r.Resources), "verbs": words(r.Verbs)})
		}
		made, binding := access(kind, name, namespace), access(kind+"Binding", name, namespace)
		made["rules"] = rules
		binding["roleRef"] = map[string]any{"apiGroup": rbac, "kind": kind, "name": name}
		binding["subjects"] = []any{e.subject()}
		all = append(all, made, binding)
	}
	return all
}

// access returns an object of the group of roles without its content.
func access(kind, name, namespace string) Object {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return Object{"apiVersion": rbac + "/v1", "kind": kind, "metadata": metadata}
}

// subject returns the account as a binding names it.
func (e *LackingError) subject() map[string]any {
	if account, of := strings.CutPrefix(e.Account, "system:serviceaccount:"); of {
		namespace, name, _ := strings.Cut(account, ":")
		return map[string]any{"kind": "ServiceAccount", "namespace": namespace, "name": name}
	}
	return map[string]any{"apiGroup": rbac, "kind": "User", "name": e.Account}
}

// words returns texts as a list of JSON.
func words(texts []string) []any {
	all := make([]any, 0, len(texts))
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}
