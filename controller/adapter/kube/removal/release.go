package removal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	fleetv1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Held is an object that is being deleted and waits for a controller that does not run.
type Held struct {
	// Name is its kind, namespace and name.
	Name string
	// Owing are the sides that have yet to take note of a relation's end. They are none if the object goes with its
	// definition, which ends nothing.
	Owing []relation.Side
	// Leaves describes what letting go leaves behind; empty for nothing.
	Leaves string

	object    client.Object
	finalizer string
}

// Holds are the objects that finalizers of Orcon hold.
type Holds struct{ Cluster }

// List lists the objects that wait for a controller. Those that a running controller is about to let go are not among
// them. now is when the ends are found.
func (h Holds) List(ctx context.Context, now time.Time) ([]Held, error) {
	relations, err := h.relations(ctx, now)
	bundles, failed := h.bundles(ctx)
	jobs, unread := h.jobs(ctx)
	return slices.Concat(relations, bundles, jobs), errors.Join(err, failed, unread)
}

func (h Holds) relations(ctx context.Context, now time.Time) ([]Held, error) {
	var list v1alpha1.RelationList
	if err := h.list(ctx, &list); err != nil || len(list.Items) == 0 {
		return nil, err
	}
	census, err := h.Census(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := h.Runs(ctx, RelationsController)
	if err != nil {
		return nil, err
	}
	definition, err := object.Definition(ctx, h.client, "relations")
	if err != nil {
		return nil, err
	}
	leaves := definition.DeletionTimestamp != nil
	var held []Held
	for i := range list.Items {
		r := &list.Items[i]
		if r.DeletionTimestamp == nil || !controllerutil.ContainsFinalizer(r, v1alpha1.Finalizer) || runs && !leaves {
			continue
		}
		one := Held{Name: "Relation " + r.Namespace + "/" + r.Name, object: r, finalizer: v1alpha1.Finalizer}
		if d, err := convert.ToRelation(r); err == nil && !leaves {
			one.Owing = census.End(d, now)
		}
		held = append(held, one)
	}
	return held, nil
}

// bundles lists what waits for the bundle controller.
func (h Holds) bundles(ctx context.Context) ([]Held, error) {
	var list bundlev1alpha1.BundleDeploymentList
	var sets fleetv1alpha1.IntegrationSetList
	runs, err := h.Runs(ctx, BundleController)
	if err := errors.Join(err, h.list(ctx, &list), h.list(ctx, &sets)); err != nil || runs {
		return nil, err
	}
	var held []Held
	for i := range sets.Items {
		if s := &sets.Items[i]; s.DeletionTimestamp != nil && controllerutil.ContainsFinalizer(s, fleetv1alpha1.Finalizer) {
			held = append(held, Held{
				Name: "IntegrationSet " + s.Namespace + "/" + s.Name, Leaves: "its members stay",
				object: s, finalizer: fleetv1alpha1.Finalizer,
			})
		}
	}
	for i := range list.Items {
		if d := &list.Items[i]; d.DeletionTimestamp != nil && controllerutil.ContainsFinalizer(d, bundlev1alpha1.Finalizer) {
			held = append(held, Held{
				Name: "BundleDeployment " + d.Namespace + "/" + d.Name, Leaves: "what it deployed stays",
				object: d, finalizer: bundlev1alpha1.Finalizer,
			})
		}
	}
	return held, nil
}

// Release writes the ends that are owed, and then lets the object go.
func (h Holds) Release(ctx context.Context, held Held) error {
	for _, s := range held.Owing {
		side := &v1alpha1.RelationSide{}
		if err := h.client.Get(ctx, client.ObjectKey{Namespace: s.Here().Namespace, Name: s.Name()}, side); err != nil {
			return fmt.Errorf("cannot read the side of %s: %w", Owing(s), err)
		}
		if convert.KeepRelationSide(side, s); side.Spec.Relation == s.Relation {
			if err := h.client.Update(ctx, side); err != nil {
				return fmt.Errorf("cannot write the end that is owed to %s: %w", Owing(s), err)
			}
		}
	}
	before, _ := held.object.DeepCopyObject().(client.Object)
	controllerutil.RemoveFinalizer(held.object, held.finalizer)
	err := h.client.Patch(ctx, held.object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot let %s go: %w", held.Name, err)
	}
	h.report("let " + held.Name + " go")
	return nil
}
