package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// right is a verb of a resource that a role permits to an account.
type right struct {
	account, verb, group, resource string
	// namespace limits the right to one namespace, and names to some objects; empty for all.
	namespace string
	names     []string
}

// String describes the right.
func (r right) String() string {
	text := r.account + " " + r.verb + " " + joined(r.resource, r.group)
	if len(r.names) > 0 {
		text += " " + strings.Join(r.names, ",")
	}
	if r.namespace != "" {
		text += " in " + r.namespace
	}
	return text
}

// permits reports whether an act needed the right. Of the three verbs that read, one is enough: an informer gets its list
// by a watch where the API server can do that, lists where it cannot, and who may list may get.
func (r right) permits(a act) bool {
	reads := []string{"get", "list", "watch"}
	alike := r.verb == a.verb || slices.Contains(reads, r.verb) && slices.Contains(reads, a.verb)
	return r.account == a.account && alike && r.group == a.group && r.resource == a.resource &&
		(r.namespace == "" || r.namespace == a.namespace) && (len(r.names) == 0 || a.name == "" || slices.Contains(r.names, a.name))
}

// role is a role by what its bindings refer to.
type role struct{ kind, namespace, name string }

// bound is a binding of either kind.
type bound struct {
	namespace string
	ref       rbacv1.RoleRef
	subjects  []rbacv1.Subject
}

// rights returns all rights of Orcon's accounts in manifests.
func rights(manifests io.Reader) ([]right, error) {
	p := permissions{rules: map[role][]rbacv1.PolicyRule{}}
	decoder := yaml.NewYAMLOrJSONDecoder(manifests, 4096)
	for {
		var o unstructured.Unstructured
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("cannot read manifests: %w", err)
		}
		if err := p.read(&o); err != nil {
			return nil, fmt.Errorf("cannot read %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return p.granted(), nil
}

// permissions are the roles and bindings of manifests.
type permissions struct {
	rules    map[role][]rbacv1.PolicyRule
	bindings []bound
}

// read adds an object, if it is a role or a binding.
func (p *permissions) read(o *unstructured.Unstructured) (err error) {
	switch kind := o.GetKind(); kind {
	case "ClusterRole", "Role":
		var r rbacv1.ClusterRole
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &r)
		p.rules[role{kind, o.GetNamespace(), o.GetName()}] = r.Rules
	case "ClusterRoleBinding", "RoleBinding":
		var b rbacv1.ClusterRoleBinding
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &b)
		p.bindings = append(p.bindings, bound{o.GetNamespace(), b.RoleRef, b.Subjects})
	}
	return err
}

// granted returns the rights that bindings give to accounts.
func (p *permissions) granted() (all []right) {
	for _, b := range p.bindings {
		of := role{b.ref.Kind, b.namespace, b.ref.Name}
		if of.kind == "ClusterRole" {
			of.namespace = ""
		}
		for _, s := range b.subjects {
			if s.Kind == rbacv1.ServiceAccountKind {
				all = append(all, expanded(s.Name, b.namespace, p.rules[of])...)
			}
		}
	}
	return all
}

// expanded returns a right for each verb of each resource.
func expanded(account, namespace string, rules []rbacv1.PolicyRule) (all []right) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, right{account, verb, group, resource, namespace, rule.ResourceNames})
				}
			}
		}
	}
	return all
}

// unused returns the rights that no act needed, sorted.
func unused(all []right, acts map[act]bool) (idle []string) {
	for _, r := range all {
		used := false
		for a := range acts {
			used = used || r.permits(a)
		}
		if !used {
			idle = append(idle, r.String())
		}
	}
	slices.Sort(idle)
	return slices.Compact(idle)
}
