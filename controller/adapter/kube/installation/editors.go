package installation

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/auth/rbac/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// defaults labels the roles and bindings that the API server creates.
const defaults = "kubernetes.io/bootstrapping"

// editors checks nothing: it lists who may change what Orcon runs (TRUST.md R8).
type editors struct{ *checker }

// bound is a role that is bound to subjects. Its namespace is empty if it is bound in the whole cluster.
type bound struct {
	namespace string
	rules     []rbacv1.PolicyRule
	subjects  []rbacv1.Subject
}

// changed is a part of Orcon, and what a user needs for changing it; any of the rules is enough. The namespace of
// cluster-scoped objects is empty.
type changed struct {
	part, namespace string
	rules           []rbacv1.PolicyRule
}

// changing returns a rule for each verb: it permits the verb for all objects of a resource, or for one of the names.
func changing(group, resource string, names []string, verbs ...string) (rules []rbacv1.PolicyRule) {
	for _, verb := range verbs {
		all := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}}
		rules = append(rules, all)
		for _, name := range names {
			all.ResourceNames = []string{name}
			rules = append(rules, all)
		}
	}
	return rules
}

// workloads returns rules that each permit to run pods, which may use the accounts of their namespace.
func workloads() (rules []rbacv1.PolicyRule) {
	for group, resources := range map[string][]string{
		"": {"pods", "replicationcontrollers"}, "batch": {"jobs", "cronjobs"},
		"apps": {"deployments", "daemonsets", "replicasets", "statefulsets"},
	} {
		for _, resource := range resources {
			rules = append(rules, changing(group, resource, nil, "create", "update", "patch")...)
		}
	}
	return rules
}

// parts returns what Orcon runs, and by what.
func parts(deployments []appsv1.Deployment) (all []changed) {
	names, accounts := map[string][]string{}, map[string][]string{}
	for _, d := range deployments {
		names[d.Namespace] = append(names[d.Namespace], d.Name)
		accounts[d.Namespace] = append(accounts[d.Namespace], cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default"))
	}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		all = append(all, changed{"what runs in namespace " + n, n, slices.Concat(
			changing("apps", "deployments", names[n], "update", "patch", "delete"),
			workloads(),
			changing("", "serviceaccounts/token", accounts[n], "create"),
			changing("", "serviceaccounts", accounts[n], "impersonate"),
			changing("", "pods/exec", nil, "create"),
			changing("", "pods/ephemeralcontainers", nil, "update", "patch"),
			changing("", "secrets", nil, "create", "update", "patch", "delete"),
		)})
	}
	const admission = "admissionregistration.k8s.io"
	return append(all,
		changed{"Orcon's webhooks and policies", "", slices.Concat(
			changing(admission, "mutatingwebhookconfigurations", []string{"relations-mutating-webhook"}, "update", "patch", "delete"),
			changing(admission, "validatingadmissionpolicies", nil, "update", "patch", "delete"),
			changing(admission, "validatingadmissionpolicybindings", nil, "update", "patch", "delete"),
		)},
		changed{"Orcon's definitions", "", changing("apiextensions.k8s.io", "customresourcedefinitions", nil, "update", "patch", "delete")},
	)
}

// check lists for each part of Orcon the accounts, users and groups whose roles permit to change it. Those that the API
// server itself binds are left out.
func (e editors) check(ctx context.Context) error {
	const what = "who may change what Orcon runs"
	var deployments appsv1.DeploymentList
	if err := e.reader.List(ctx, &deployments, partOfOrcon); err != nil {
		return client.IgnoreNotFound(ignoreForbidden(err)) // the check of Deployments reports it
	}
	if len(deployments.Items) == 0 {
		return nil
	}
	bindings, ok, err := e.bindings(ctx, what)
	if err != nil || !ok {
		return err
	}
	for _, part := range parts(deployments.Items) {
		who := "the cluster's administrators alone"
		if names := part.by(bindings); len(names) > 0 {
			who = "the cluster's administrators, " + strings.Join(names, ", ")
		}
		e.findings = append(e.findings, Finding{"who may change " + part.part, OK, who})
	}
	return nil
}

func ignoreForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// roleKey identifies a role. A ClusterRole has no namespace.
type roleKey struct{ kind, namespace, name string }

// bindings returns all that is bound in the cluster; ok is false where the user may not list it.
func (e editors) bindings(ctx context.Context, what string) (all []bound, ok bool, err error) {
	var clusterRoles rbacv1.ClusterRoleList
	var clusterBindings rbacv1.ClusterRoleBindingList
	var roles rbacv1.RoleList
	var bindings rbacv1.RoleBindingList
	for _, list := range []client.ObjectList{&clusterRoles, &clusterBindings, &roles, &bindings} {
		if ok, err := e.list(ctx, what, list); err != nil || !ok {
			return nil, false, err
		}
	}
	rules := map[roleKey][]rbacv1.PolicyRule{}
	for _, r := range clusterRoles.Items {
		rules[roleKey{"ClusterRole", "", r.Name}] = r.Rules
	}
	for _, r := range roles.Items {
		rules[roleKey{"Role", r.Namespace, r.Name}] = r.Rules
	}
	add := func(b metav1.ObjectMeta, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		key := roleKey{ref.Kind, b.Namespace, ref.Name}
		if ref.Kind == "ClusterRole" {
			key.namespace = ""
		}
		if _, own := b.Labels[defaults]; !own {
			all = append(all, bound{b.Namespace, rules[key], subjects})
		}
	}
	for _, b := range clusterBindings.Items {
		add(b.ObjectMeta, b.RoleRef, b.Subjects)
	}
	for _, b := range bindings.Items {
		add(b.ObjectMeta, b.RoleRef, b.Subjects)
	}
	return all, true, nil
}

// by returns the subjects that may change a part, sorted, each once.
func (c changed) by(bindings []bound) (names []string) {
	for _, g := range bindings {
		if g.namespace != "" && g.namespace != c.namespace {
			continue
		}
		if !slices.ContainsFunc(c.rules, func(r rbacv1.PolicyRule) bool {
			covers, _ := validation.Covers(g.rules, []rbacv1.PolicyRule{r})
			return covers
		}) {
			continue
		}
		for _, s := range g.subjects {
			name := strings.ToLower(s.Kind) + " " + s.Name
			if s.Kind == rbacv1.ServiceAccountKind {
				name = "account " + cmp.Or(s.Namespace, g.namespace) + "/" + s.Name
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
