package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Apply writes objects: created if they must not exist, else applied at the version that was looked at. Fields of
// others are taken only if a write lists them (BUNDLES.md 2). It returns the written and the refused objects; an
// object in neither was changed by another writer meanwhile: look again.
func (w *World) Apply(ctx context.Context, writes []bundle.Write) (written []bundle.ID, refused map[bundle.ID]error) {
	return tally(ctx, writes, func(ctx context.Context, write bundle.Write) (bundle.ID, bool, error) {
		id := write.Object.ID()
		moved, err := w.write(ctx, write)
		return id, moved, err
	})
}

// tally does something with each of many, and says which it was done with, and why not.
func tally[T any](ctx context.Context, all []T, do func(context.Context, T) (id bundle.ID, moved bool, err error)) (done []bundle.ID, refused map[bundle.ID]error) {
	refused = map[bundle.ID]error{}
	var mu sync.Mutex
	_ = each(ctx, all, func(ctx context.Context, one T) error {
		id, moved, err := do(ctx, one)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			refused[id] = err
		case !moved:
			done = append(done, id)
		}
		return nil
	})
	return done, refused
}

func (w *World) write(ctx context.Context, write bundle.Write) (moved bool, err error) {
	if write.ResourceVersion == "" {
		o := &unstructured.Unstructured{Object: copied(write.Object)}
		err = w.client.Create(ctx, o, client.FieldOwner(Manager), strict)
	} else {
		err = w.update(ctx, write)
	}
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err) && !contested(err), apierrors.IsNotFound(err) && write.ResourceVersion != "":
		return true, nil
	case err != nil:
		return false, fmt.Errorf("the API server refuses to write it: %s", words(write.Object.ID(), err, w.Secretive))
	}
	return false, nil
}

// update applies an object. The API server takes fields from others for a whole request or
// not at all, so it is asked first which they are.
func (w *World) update(ctx context.Context, write bundle.Write) error {
	live, err := w.own(ctx, write)
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{Object: copied(bundle.Settle(write.Object, live.Object, w.Ignores))}
	o.SetResourceVersion(live.GetResourceVersion())
	want := bundle.Object(o.Object)
	_, err = w.apply(ctx, want)
	if !contested(err) {
		return err
	}
	if left := slices.DeleteFunc(fields(err), func(f string) bool { return slices.Contains(write.Force, f) }); len(left) > 0 {
		return err
	}
	_, err = w.apply(ctx, want, client.ForceOwnership)
	return err
}

// own adds the fields that this manager set at creation to its applied fields: else fields that leave the bundle
// would stay. It returns the object at the version to write at.
func (w *World) own(ctx context.Context, write bundle.Write) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{Object: copied(write.Object)}
	if err := w.client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return nil, err
	}
	if o.GetResourceVersion() != write.ResourceVersion {
		o.SetResourceVersion(write.ResourceVersion)
		return o, nil // the API server says so when it is applied
	}
	managers, err := clients(o, w.owner)
	if err != nil {
		return nil, err
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(o, managers, Manager)
	if err != nil {
		return nil, fmt.Errorf("cannot read who set its fields: %w", err)
	}
	if len(patch) > 0 {
		if err := w.client.Patch(ctx, o, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(Manager)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// contested reports whether others have fields that were to be applied.
func contested(err error) bool { return len(fields(err)) > 0 }

// fields are those that others have, as a refusal names them.
func fields(err error) []string {
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Details == nil {
		return nil
	}
	var all []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			all = append(all, strings.TrimPrefix(cause.Field, "."))
		}
	}
	return all
}

// propagation lets what an object owns go first. What has no status owns nothing.
func propagation(o *unstructured.Unstructured) client.PropagationPolicy {
	if o.Object["status"] == nil {
		return client.PropagationPolicy(metav1.DeletePropagationBackground)
	}
	return client.PropagationPolicy(metav1.DeletePropagationForeground)
}

// Delete deletes objects that are still the ones that were looked at, and gives those back that have
// an original. What they own goes first. It returns what it would not delete, and why.
func (w *World) Delete(ctx context.Context, deletions []bundle.Deletion) (refused map[bundle.ID]error) {
	_, refused = tally(ctx, deletions, func(ctx context.Context, d bundle.Deletion) (bundle.ID, bool, error) {
		return d.ID, false, w.remove(ctx, d)
	})
	return refused
}

func (w *World) remove(ctx context.Context, d bundle.Deletion) error {
	o, _, err := w.live(ctx, d.ID, "")
	if err != nil || o == nil {
		return err
	}
	uid, verb := types.UID(d.UID), "delete it"
	switch {
	case d.Original == nil:
		err = w.client.Delete(ctx, o, client.Preconditions{UID: &uid, ResourceVersion: &d.ResourceVersion}, propagation(o))
	case o.GetUID() == uid && o.GetResourceVersion() == d.ResourceVersion:
		verb = "give it back"
		err = giving{w, o}.giveBack(ctx, *d.Original)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("the API server refuses to %s: %s", verb, words(d.ID, err, w.Secretive))
	}
	return nil
}
