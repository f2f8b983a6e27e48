package removal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// The labels of Orcon's parts. Those of a program have its name too.
const (
	partOf    = "app.kubernetes.io/part-of"
	nameLabel = "app.kubernetes.io/name"
	orcon     = "orcon"
)

// The two words of annotation orcon.tengu.io/leave, without which a definition is not deleted.
const (
	leaveKey = "orcon.tengu.io/leave"
	leaveEnd = "end"
)

// part is a kind, with a selector of Orcon's objects. Without one it selects those of programs.
type part struct {
	group, version, kind string
	selects              func(*metav1.PartialObjectMetadata) bool
}

// programs lists the parts that act, in the order in which they go: nothing waits for a webhook that is gone, no namespace
// for an API that is gone, and no controller loses its rights while it runs.
func programs() []part {
	const admission, rbac = "admissionregistration.k8s.io", "rbac.authorization.k8s.io"
	return []part{
		{"apiregistration.k8s.io", "v1", "APIService", nil},
		{admission, "v1", "MutatingWebhookConfiguration", nil},
		{admission, "v1", "ValidatingWebhookConfiguration", nil},
		{"apps", "v1", "Deployment", nil},
		{rbac, "v1", "ClusterRoleBinding", nil},
		{rbac, "v1", "RoleBinding", nil},
		{rbac, "v1", "ClusterRole", nil},
		{rbac, "v1", "Role", nil},
		{"", "v1", "ServiceAccount", nil},
	}
}

// keepsakes lists the parts that stay when Orcon leaves and keeps everything, in the order in which they go otherwise.
func keepsakes() []part {
	const admission, rbac = "admissionregistration.k8s.io", "rbac.authorization.k8s.io"
	ours := func(o *metav1.PartialObjectMetadata) bool { return o.Labels[partOf] == orcon }
	return []part{
		{"apiextensions.k8s.io", "v1", "CustomResourceDefinition", func(o *metav1.PartialObjectMetadata) bool {
			return strings.HasSuffix(o.Name, "."+v1alpha1.GroupVersion.Group)
		}},
		{"", "v1", "Secret", func(o *metav1.PartialObjectMetadata) bool {
			return ours(o) && strings.HasPrefix(o.Name, "orcon-secrets-")
		}},
		{"", "v1", "ConfigMap", func(o *metav1.PartialObjectMetadata) bool { return ours(o) || o.Name == "orcon-trust" }},
		{"", "v1", "Service", ours},
		{"policy", "v1", "PodDisruptionBudget", ours},
		{"networking.k8s.io", "v1", "NetworkPolicy", ours},
		{"scheduling.k8s.io", "v1", "PriorityClass", ours},
		{rbac, "v1", "ClusterRoleBinding", ours},
		{rbac, "v1", "ClusterRole", ours},
		{admission, "v1", "ValidatingAdmissionPolicyBinding", ours},
		{admission, "v1", "ValidatingAdmissionPolicy", ours},
		{"", "v1", "Namespace", ours},
	}
}

// Parts are the objects that Orcon was installed with.
type Parts struct{ Cluster }

// found lists the objects of a part.
func (p Parts) found(ctx context.Context, of part) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: of.group, Version: of.version, Kind: of.kind + "List"})
	var options []client.ListOption
	if of.selects == nil {
		ours, err := labels.NewRequirement(partOf, selection.Equals, []string{orcon})
		if err != nil {
			return nil, err
		}
		named, err := labels.NewRequirement(nameLabel, selection.Exists, nil)
		if err != nil {
			return nil, err
		}
		options = append(options, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*ours, *named)})
	}
	err := p.list(ctx, list, options...)
	return slices.DeleteFunc(list.Items, func(o metav1.PartialObjectMetadata) bool { return of.selects != nil && !of.selects(&o) }), err
}

// Programs lists what acts, as kind and name.
func (p Parts) Programs(ctx context.Context) ([]string, error) { return p.names(ctx, programs()) }

// Rest lists what stays when Orcon leaves and keeps everything.
func (p Parts) Rest(ctx context.Context) ([]string, error) { return p.names(ctx, keepsakes()) }

func (p Parts) names(ctx context.Context, parts []part) ([]string, error) {
	var names []string
	for _, of := range parts {
		all, err := p.found(ctx, of)
		if err != nil {
			return names, err
		}
		for i := range all {
			names = append(names, nameOf(of, &all[i]))
		}
	}
	return names, nil
}

func nameOf(of part, o *metav1.PartialObjectMetadata) string {
	if o.Namespace == "" {
		return of.kind + " " + o.Name
	}
	return of.kind + " " + o.Namespace + "/" + o.Name
}

// TakePrograms deletes what acts: webhook configurations, controllers, accounts. Definitions, objects and labels
// stay. Pods that wait for them are reported.
func (p Parts) TakePrograms(ctx context.Context) error {
	if err := p.take(ctx, programs()); err != nil {
		return err
	}
	p.waiting(ctx)
	return nil
}

// TakeRest deletes the definitions, with all objects of their kinds, and what else is left of Orcon.
func (p Parts) TakeRest(ctx context.Context) error { return p.take(ctx, keepsakes()) }

// take deletes parts one after the other, each when the one before is gone.
func (p Parts) take(ctx context.Context, parts []part) error {
	for _, of := range parts {
		all, err := p.found(ctx, of)
		for i := range all {
			if err == nil {
				err = p.remove(ctx, of, &all[i])
			}
		}
		if err == nil && len(all) > 0 {
			err = p.gone(ctx, of)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p Parts) remove(ctx context.Context, of part, o *metav1.PartialObjectMetadata) error {
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: of.group, Version: of.version, Kind: of.kind})
	if of.kind == "CustomResourceDefinition" {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, leaveKey, leaveEnd)
		if err := p.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cannot annotate %s: %w", nameOf(of, o), err)
		}
	}
	foreground := client.PropagationPolicy(metav1.DeletePropagationForeground)
	err := p.client.Delete(ctx, deletable(of, o), client.Preconditions{UID: &o.UID}, foreground)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("cannot delete %s: %w", nameOf(of, o), err)
	}
	p.report("deleted " + nameOf(of, o))
	return nil
}

// deletable returns an object in the form that a client deletes whose scheme does not have its kind.
func deletable(of part, o *metav1.PartialObjectMetadata) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: of.group, Version: of.version, Kind: of.kind})
	u.SetNamespace(o.Namespace)
	u.SetName(o.Name)
	return u
}

// gone waits until no object of a part is left.
func (p Parts) gone(ctx context.Context, of part) error {
	return until(ctx, func() (string, error) {
		left, err := p.found(ctx, of)
		if err != nil || len(left) == 0 {
			return "", err
		}
		return nameOf(of, &left[0]) + " is still being deleted", nil
	})
}

// look is how often is looked whether what is awaited has come about.
const look = 500 * time.Millisecond

// until waits until nothing is left to wait for, or ctx ends.
func until(ctx context.Context, waits func() (string, error)) error {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		left, err := waits()
		if err != nil && !meta.IsNoMatchError(err) {
			return err
		}
		if left == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", left, ctx.Err())
		case <-ticker.C:
		}
	}
}
