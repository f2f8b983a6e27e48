package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// strict refuses fields that the kind does not have, as kubectl does: a typing error that
// is dropped in silence is found when it is needed.
const strict = client.FieldValidation(metav1.FieldValidationStrict)

// tryCreate asks whether an object could be created.
func (w *World) tryCreate(ctx context.Context, want bundle.Object) error {
	o := &unstructured.Unstructured{Object: copied(want)}
	return w.client.Create(ctx, o, client.DryRunAll, client.FieldOwner(Manager), strict)
}

func copied(o bundle.Object) map[string]any {
	return (&unstructured.Unstructured{Object: o}).DeepCopy().Object
}

// apply sends a server-side apply.
func (w *World) apply(ctx context.Context, want bundle.Object, options ...client.PatchOption) (*unstructured.Unstructured, error) {
	text, err := want.Canonical()
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{Object: copied(want)}
	options = append(options, client.FieldOwner(Manager), strict)
	return o, w.client.Patch(ctx, o, client.RawPatch(types.ApplyPatchType, text), options...)
}

// compare asks what applying would change. It returns why the API server refuses that,
// unless it would take the object if it were new: then it cannot be changed in place.
func (w *World) compare(ctx context.Context, q question, needed *needs, live *unstructured.Unstructured, l *bundle.Live) error {
	q.want = bundle.Settle(q.want, live.Object, w.Ignores)
	after, err := w.apply(ctx, q.want, client.DryRunAll, client.ForceOwnership)
	switch {
	case apierrors.IsInvalid(err) && apierrors.IsAlreadyExists(w.tryCreate(ctx, q.want)):
		l.Immutable = words(q.id, err, w.Secretive)
		return nil
	case w.ReadOnly && apierrors.IsForbidden(err) && needed.lacks(ctx, q.id, "patch"):
		w.withheld.estimated(q.id)
		l.Changes = bundle.Expected(bundle.Object(live.Object), q.want)
		return nil
	case err != nil:
		return err
	}
	return taking{w.client, w.owner}.change(ctx, q, live, after, l)
}

// words are those of the API server, without values of Secrets, which refusals quote: of objects that may
// have such values only the fields are named (BUNDLES.md 10, TRUST.md R5).
func words(id bundle.ID, err error, secretive bool) string {
	var status apierrors.APIStatus
	known := errors.As(err, &status)
	switch {
	case apierrors.IsNotFound(err) && known && status.Status().Details != nil && status.Status().Details.Kind == "namespaces":
		return fmt.Sprintf("namespace %s does not exist: kubectl create namespace %[1]s", status.Status().Details.Name)
	case !known, !secretive && (id.Kind != "Secret" || id.Group != ""):
		return err.Error()
	}
	reason := string(apierrors.ReasonForError(err))
	if located, ok := errors.AsType[*bundle.LocatedError](err); ok {
		reason = located.Location
	}
	if wrong := wrongFields(status); wrong != "" {
		reason += ": " + wrong
	}
	return reason + " (details hidden: they may contain secret values; kubectl apply --dry-run=server shows them)"
}

// wrongFields are those that a refusal names.
func wrongFields(status apierrors.APIStatus) string {
	if status.Status().Details == nil {
		return ""
	}
	var all []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Field != "" && !slices.Contains(all, cause.Field) {
			all = append(all, cause.Field)
		}
	}
	return strings.Join(all, ", ")
}

// change describes what applying changes.
func (t taking) change(ctx context.Context, q question, live, after *unstructured.Unstructured, l *bundle.Live) error {
	was, err := ownership(live)
	if err != nil {
		return err
	}
	is, err := ownership(after)
	if err != nil {
		return err
	}
	migrated, err := t.migrated(ctx, live, after, is.applied)
	if err != nil {
		return err
	}
	l.Changes = changes(q, live, after, was, is)
	for path := range migrated.All() {
		before, _ := at(live.Object, path)
		l.Changes = append(l.Changes, bundle.Change{Path: name(path), Before: shown(before, true), Manager: was.holder(path)})
	}
	l.Fields, err = present(live, is.applied.Union(migrated))
	return err
}

// changes lists the fields that applying sets or takes away, with who has them now. A field that the API server does not
// store, such as an empty value of a variable, is none.
func changes(q question, live, after *unstructured.Unstructured, was, is owners) []bundle.Change {
	var all []bundle.Change
	for path := range is.applied.Leaves().All() {
		before, there := at(live.Object, path)
		now, stored := at(after.Object, path)
		if there == stored && reflect.DeepEqual(before, now) {
			continue
		}
		_, ours := at(q.before, path)
		c := bundle.Change{Path: name(path), Before: shown(before, there), After: shown(now, true), Ours: ours}
		if there {
			c.Manager = was.holder(path)
		}
		all = append(all, c)
	}
	for path := range was.missing(is).All() {
		before, there := at(live.Object, path)
		if _, ours := at(q.before, path); there && ours {
			all = append(all, bundle.Change{Path: name(path), Before: shown(before, true), Ours: true})
		}
	}
	return all
}

// below returns the fields of a set that lie below a path: a map that is partly applied is not taken away.
func below(set *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	for _, step := range path {
		set = set.WithPrefix(step)
	}
	return set
}

// name writes a path as the API server does, without its first dot.
func name(path fieldpath.Path) string { return strings.TrimPrefix(path.String(), ".") }

func shown(value any, there bool) string {
	if !there {
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
