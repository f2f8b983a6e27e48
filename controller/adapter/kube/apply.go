package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/event"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Apply carries out one decision. Applying it twice does no harm: what Orcon
// alone writes goes with the resourceVersion that was read, and is deleted with
// its UID (SAFETY.md D11).
func (w *World) Apply(ctx context.Context, namespace string, decision relation.Decision) error {
	switch d := decision.(type) {
	case relation.Publish:
		return w.publish(ctx, namespace, d)
	case relation.Remember:
		return w.remember(ctx, namespace, d)
	case relation.Relate:
		return w.relate(ctx, namespace, d)
	case relation.Update:
		return w.update(ctx, namespace, d)
	case relation.Finish:
		return w.remove(ctx, object.Named(&v1alpha1.Relation{}, namespace, d.Name), d.UID)
	case relation.Release:
		return w.release(ctx, namespace, d)
	case relation.Deliver:
		return w.deliver(ctx, namespace, d)
	case relation.Answer:
		return w.answer(ctx, namespace, d)
	case relation.Withdraw:
		return w.withdraw(ctx, namespace, d)
	case relation.Mark:
		return w.mark(ctx, namespace, d)
	case relation.Forget:
		return w.remove(ctx, object.Named(&v1alpha1.RelatedApplication{}, namespace, d.Name), d.UID)
	default:
		return fmt.Errorf("cannot apply %T: it is not known here", decision)
	}
}

// get returns the object as last seen or written; ok is false if there is none.
func get[T client.Object](ctx context.Context, w *World, o T) (found T, ok bool, err error) {
	unseen := w.unseen(placeOf(o))
	err = w.Reader.Get(ctx, client.ObjectKeyFromObject(o), o)
	if err != nil && !apierrors.IsNotFound(err) {
		return o, false, fmt.Errorf("cannot read %T: %w", o, err)
	}
	if written, ok := unseen[o.GetName()].(T); ok && object.Revision(written) > object.Revision(o) {
		o, _ = written.DeepCopyObject().(T)
	}
	return o, o.GetResourceVersion() != "", nil
}

// store creates the object if it is not there, and then writes its status.
// fill must fill in the status from the object as it is, and fail if that cannot be read: it has
// changed since the decision.
func store[T client.Object](ctx context.Context, w *World, o T, fill func(T) error) (T, error) {
	empty, _ := o.DeepCopyObject().(T)
	found, there, err := get(ctx, w, empty)
	if err != nil {
		return o, err
	}
	if !there {
		found = o
		if err := w.Writer.Create(ctx, found); err != nil {
			return o, fmt.Errorf("cannot create %s: %w", o.GetName(), err)
		}
		w.overlay.wrote(found)
	}
	if err := fill(found); err != nil {
		return o, err
	}
	if err := w.Writer.Status().Update(ctx, found); err != nil {
		return o, fmt.Errorf("cannot write the status of %s: %w", o.GetName(), err)
	}
	w.overlay.wrote(found)
	return found, nil
}

func (w *World) publish(ctx context.Context, namespace string, d relation.Publish) error {
	bag := object.Named(&v1alpha1.Databag{}, namespace, relation.DatabagName(d.Application, d.Endpoint))
	bag.Spec = convert.ForBag(relation.Databag{Application: d.Application, Endpoint: d.Endpoint})
	_, err := store(ctx, w, bag, func(b *v1alpha1.Databag) error {
		if _, err := convert.ToDatabag(b); err != nil {
			return err
		}
		if err := w.recall(ctx, b); err != nil {
			return err
		}
		convert.SetData(b, conversation.Entry{Who: conversation.Controller, Cause: conversation.Declared}, d.Data, d.Secret, w.Now())
		return nil
	})
	return err
}

// recall reads the record of a bag, which is in no memory. Who wrote the bag after it
// was seen is not overtaken: the bag goes with the revision that was seen.
func (w *World) recall(ctx context.Context, b *v1alpha1.Databag) error {
	if b.Status.Version == "" {
		return nil // nothing was said yet
	}
	var live v1alpha1.Databag
	if err := w.Live.Get(ctx, client.ObjectKeyFromObject(b), &live); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot read the record of databag %s: %w", b.Name, err)
	}
	b.Status.Commits, b.Status.Record = live.Status.Commits, live.Status.Record
	return nil
}

func (w *World) remember(ctx context.Context, namespace string, d relation.Remember) error {
	if d.Rollout != nil {
		if err := w.rollOut(ctx, namespace, *d.Rollout); err != nil {
			return err
		}
	}
	var before v1alpha1.RelatedApplicationStatus
	app := object.Named(&v1alpha1.RelatedApplication{}, namespace, d.Name)
	app, err := store(ctx, w, app, func(a *v1alpha1.RelatedApplication) error {
		before = a.Status
		if _, err := convert.ToRecord(a); err != nil {
			return err
		}
		convert.SetApplication(a, d.State, w.Now())
		return nil
	})
	if err == nil {
		w.tell().application(ctx, app, before)
	}
	return err
}

// rollOut asks for one rollout of each workload. The same version again changes
// nothing, so a crash before the record is written costs no second one.
func (w *World) rollOut(ctx context.Context, namespace string, r relation.Rollout) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{application.KeyDataVersion: r.Version}},
	}}})
	if err != nil {
		return fmt.Errorf("cannot write the rollout patch: %w", err)
	}
	for _, workload := range r.Workloads {
		o := object.Named(objectOf(string(workload.Kind)), namespace, workload.Name)
		err := w.Writer.Patch(ctx, o, client.RawPatch(types.StrategicMergePatchType, patch), client.FieldOwner("relations-controller-restart"))
		if apierrors.IsNotFound(err) {
			continue // deleted meanwhile: nothing is left to restart
		}
		if err != nil {
			return fmt.Errorf("cannot restart %s %s: %w", workload.Kind, workload.Name, err)
		}
		w.tell().say(o, event.Restarted, fmt.Sprintf("restarted for new data of its relations, as %s asks", application.KeyOnChange))
	}
	return nil
}

func (w *World) relate(ctx context.Context, namespace string, d relation.Relate) error {
	r, err := store(ctx, w, convert.ForPair(namespace, d.Pair), func(r *v1alpha1.Relation) error {
		if _, err := convert.ToRelation(r); err != nil {
			return err
		}
		convert.SetRelation(r, d.State, w.Now())
		return nil
	})
	if err == nil {
		w.tell().say(r, event.Related, fmt.Sprintf("%s and %s are related by %s", r.Status.Requirer, r.Status.Provider, r.Spec.Interface))
		w.tell().relation(r, v1alpha1.RelationStatus{})
	}
	return err
}

func (w *World) update(ctx context.Context, namespace string, d relation.Update) error {
	r, there, err := get(ctx, w, object.Named(&v1alpha1.Relation{}, namespace, d.Name))
	if err != nil || !there || string(r.UID) != d.UID {
		return err
	}
	if _, err := convert.ToRelation(r); err != nil {
		return err // it has changed since the decision
	}
	if r.DeletionTimestamp == nil && controllerutil.AddFinalizer(r, v1alpha1.Finalizer) {
		if err := w.Writer.Update(ctx, r); err != nil {
			return fmt.Errorf("cannot put the finalizer on relation %s: %w", d.Name, err)
		}
		w.overlay.wrote(r)
	}
	before := *r.Status.DeepCopy()
	convert.SetRelation(r, d.State, w.Now())
	if err := w.Writer.Status().Update(ctx, r); err != nil {
		return fmt.Errorf("cannot write the status of relation %s: %w", d.Name, err)
	}
	w.overlay.wrote(r)
	w.tell().relation(r, before)
	return nil
}

func (w *World) release(ctx context.Context, namespace string, d relation.Release) error {
	r, there, err := get(ctx, w, object.Named(&v1alpha1.Relation{}, namespace, d.Name))
	if err != nil || !there || string(r.UID) != d.UID || !slices.Contains(r.Finalizers, v1alpha1.Finalizer) {
		return err
	}
	controllerutil.RemoveFinalizer(r, v1alpha1.Finalizer)
	if err := w.Writer.Update(ctx, r); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot release relation %s: %w", d.Name, err)
	}
	return nil
}

func (w *World) answer(ctx context.Context, namespace string, d relation.Answer) error {
	o, there, err := get(ctx, w, object.Named(&v1alpha1.Offer{}, namespace, d.Name))
	if err != nil || !there || string(o.UID) != d.UID {
		return err
	}
	before := *o.Status.DeepCopy()
	convert.SetOffer(o, d.State, w.Now())
	if err := w.Writer.Status().Update(ctx, o); err != nil {
		return fmt.Errorf("cannot write the status of offer %s: %w", o.Name, err)
	}
	w.overlay.wrote(o)
	w.tell().offer(o, before)
	return nil
}

// withdraw deletes a bag. One of a relation in another namespace is not deleted
// before the API server itself says that the relation has gone: what is only not
// seen here yet may be what it was just written for (SAFETY.md E13).
func (w *World) withdraw(ctx context.Context, namespace string, d relation.Withdraw) error {
	if d.Home.Namespace != "" {
		var r v1alpha1.Relation
		err := w.Live.Get(ctx, client.ObjectKey{Namespace: d.Home.Namespace, Name: d.Home.Name}, &r)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cannot read relation %s in namespace %s: %w", d.Home.Name, d.Home.Namespace, err)
		}
		if string(r.UID) == d.Relation {
			return nil
		}
	}
	bag, there, err := get(ctx, w, object.Named(&v1alpha1.Databag{}, namespace, d.Name()))
	if err != nil || !there {
		return err
	}
	return w.remove(ctx, bag, string(bag.UID))
}

func (w *World) remove(ctx context.Context, o client.Object, uid string) error {
	condition := client.Preconditions{UID: (*types.UID)(&uid)}
	err := w.Writer.Delete(ctx, o, condition, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot delete %s: %w", o.GetName(), err)
	}
	return nil
}
