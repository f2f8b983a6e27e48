package registryv1

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

const (
	rbac = "rbac.authorization.k8s.io"
	// readable is how much of a generated name is for people; a hash follows.
	readable = 40
)

// accounts returns the service accounts that permissions name and that the bundle does not have.
func (o *operator) accounts() []bundle.Object {
	names := map[string]bool{"default": true}
	for _, other := range o.others {
		if other.ID().Kind == "ServiceAccount" {
			names[other.ID().Name] = true
		}
	}
	var all []bundle.Object
	for _, p := range slices.Concat(o.Spec.Install.Spec.Permissions, o.Spec.Install.Spec.ClusterPermissions) {
		if account := p.account(); !names[account] {
			names[account] = true
			all = append(all, made("v1", "ServiceAccount", o.namespace, account, nil))
		}
	}
	slices.SortFunc(all, func(a, b bundle.Object) int { return a.ID().Compare(b.ID()) })
	return all
}

// account is the one that a permission is for.
func (p permission) account() string {
	if p.Account == "" {
		return "default"
	}
	return p.Account
}

// permissions are roles and their bindings: in each namespace that is watched; for the
// whole cluster where all are, with leave to see which there are.
func (o *operator) permissions() []bundle.Object {
	var all []bundle.Object
	for _, p := range o.Spec.Install.Spec.Permissions {
		if o.everywhere() {
			p.Rules = append(slices.Clone(p.Rules), map[string]any{
				"apiGroups": []any{""}, "resources": []any{"namespaces"}, "verbs": []any{"get", "list", "watch"},
			})
		}
		for _, target := range o.targets {
			all = append(all, o.grant(p, target)...)
		}
	}
	for _, p := range o.Spec.Install.Spec.ClusterPermissions {
		all = append(all, o.grant(p, "")...)
	}
	slices.SortStableFunc(all, func(a, b bundle.Object) int { return a.ID().Compare(b.ID()) })
	return slices.CompactFunc(all, func(a, b bundle.Object) bool { return a.ID() == b.ID() })
}

// grant is a role and its binding, in a namespace or, for "", the whole cluster.
func (o *operator) grant(p permission, namespace string) []bundle.Object {
	kind := "ClusterRole"
	if namespace != "" {
		kind = "Role"
	}
	name := generated(o.Metadata.Name+"-"+p.account(), []any{o.namespace, p})
	return []bundle.Object{
		made(rbac+"/v1", kind, namespace, name, map[string]any{"rules": p.Rules}),
		made(rbac+"/v1", kind+"Binding", namespace, name, map[string]any{
			"roleRef":  map[string]any{"apiGroup": rbac, "kind": kind, "name": name},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": p.account(), "namespace": o.namespace}},
		}),
	}
}

// generated returns a name of at most 63 characters that tells contents apart.
func generated(base string, of any) string {
	text, err := json.Marshal(of)
	if err != nil {
		text = []byte(err.Error()) // what was read from JSON is written as JSON
	}
	sum := sha256.Sum256(append([]byte(base), text...))
	return fmt.Sprintf("%s-%x", strings.TrimRight(base[:min(len(base), readable)], "-."), sum[:5])
}
