package cluster

import (
	"cmp"
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// foresee answers a question of a preflight, by what was read of the object: what writing
// it would change, whether the API server would take it, and what that needs.
func (w *World) foresee(ctx context.Context, q question, look bundle.Look, needed *needs, o *unstructured.Unstructured, noAPI bool, err error) (l bundle.Live, refused, failed error) {
	switch {
	case apierrors.IsForbidden(err):
		return l, nil, needed.unread(q)
	case err != nil || q.aside && o == nil:
		return l, nil, err
	case q.want != nil:
		needed.watch(q.want)
	}
	switch {
	case o != nil:
		return w.foreseeChange(ctx, q, look, needed, o)
	case q.want == nil:
		return bundle.Live{NoAPI: noAPI}, nil, nil
	case !noAPI && q.id.Kind != "Pod":
		refused = w.tryCreate(ctx, q.want) // what only the account lacks, permit drops
	}
	return bundle.Live{NoAPI: noAPI}, refused, needed.object(q.id, "create")
}

// foreseeChange answers a question of a preflight about an object that is there.
func (w *World) foreseeChange(ctx context.Context, q question, look bundle.Look, needed *needs, o *unstructured.Unstructured) (l bundle.Live, refused, failed error) {
	l.Object = bundle.Object(o.Object)
	switch {
	case look.Kept[q.id]:
	case q.want != nil && isJob(q.id):
		if hasFailed(o) {
			failed = needed.object(q.id, "delete", "create")
		}
	case q.want != nil:
		refused = cmp.Or(w.upgrade(q, l.Object), w.compare(ctx, q, needed, o, &l))
		failed = needed.object(q.id, overwrite(l)...)
	case q.want == nil && l.Object.Annotation(bundle.OwnerKey) == w.owner:
		failed = needed.object(q.id, ending(look, q.id))
	}
	unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
	return l, refused, failed
}

// upgrade returns why a definition may not become the desired one.
func (w *World) upgrade(q question, live bundle.Object) error {
	if w.Definitions == nil || q.id.Kind != definitionKind {
		return nil
	}
	findings, err := w.Definitions.Findings(live, q.want)
	if err == nil && len(findings) > 0 {
		err = &bundle.UpgradeError{Findings: findings}
	}
	return err
}

// overwrite returns the verbs by which a live object becomes the desired one.
func overwrite(l bundle.Live) []string {
	if l.Immutable != "" {
		return []string{"patch", "delete", "create"}
	}
	return []string{"patch"}
}

// ending is the verb by which an object leaves a deployment.
func ending(look bundle.Look, id bundle.ID) string {
	if look.Adopted[id] {
		return "patch"
	}
	return "delete"
}

// hasFailed reports whether a Job has failed: then it is made anew.
func hasFailed(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(conditions(o), func(c bundle.Object) bool {
		return c.Text("type") == "Failed" && c.Text("status") == "True"
	})
}

// unread notes what is needed of an object that may not even be read. It may be there or
// not.
func (n *needs) unread(q question) error {
	switch {
	case q.aside:
		return nil
	case q.want == nil:
		return n.object(q.id, "get", "delete")
	}
	n.watch(q.want)
	return n.object(q.id, "get", "create", "patch")
}
