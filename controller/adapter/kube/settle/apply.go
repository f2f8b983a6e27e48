package settle

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/event"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// writer writes what was decided, each object in the revision that was last seen or written.
type writer struct {
	reader client.Reader
	live   client.Reader
	client client.Client
	latest *latest
	events eventWriter
	now    func() time.Time
}

// get returns the object as last seen or written; ok is false if there is none.
func get[T client.Object](ctx context.Context, w writer, o T) (found T, ok bool, err error) {
	unseen := w.latest.unseen(scopeOf(o))
	err = w.reader.Get(ctx, client.ObjectKeyFromObject(o), o)
	if err != nil && !apierrors.IsNotFound(err) {
		return o, false, fmt.Errorf("cannot read %T: %w", o, err)
	}
	if written, ok := unseen[o.GetName()].(T); ok && object.Revision(written) > object.Revision(o) {
		o, _ = written.DeepCopyObject().(T)
	}
	return o, o.GetResourceVersion() != "", nil
}

// store creates the object if it does not exist, and then writes its status. fill must set the status from
// the object as it is, and fail if that cannot be read: it has changed since the decision.
func store[T client.Object](ctx context.Context, w writer, o T, fill func(T) error) (T, error) {
	empty, _ := o.DeepCopyObject().(T)
	found, there, err := get(ctx, w, empty)
	if err != nil {
		return o, err
	}
	if !there {
		found = o
		if err := w.client.Create(ctx, found); err != nil {
			return o, fmt.Errorf("cannot create %s: %w", o.GetName(), err)
		}
		w.latest.wrote(found)
	}
	if err := fill(found); err != nil {
		return o, err
	}
	if err := w.client.Status().Update(ctx, found); err != nil {
		return o, fmt.Errorf("cannot write the status of %s: %w", o.GetName(), err)
	}
	w.latest.wrote(found)
	return found, nil
}

func (w writer) publish(ctx context.Context, namespace string, d relation.Publish) error {
	bag := object.Named(&v1alpha1.Databag{}, namespace, relation.DatabagName(d.Application, d.Endpoint))
	bag.Spec = convert.ForBag(relation.Databag{Application: d.Application, Endpoint: d.Endpoint})
	_, err := store(ctx, w, bag, func(b *v1alpha1.Databag) error {
		if _, err := convert.ToDatabag(b); err != nil {
			return err
		}
		if err := w.recall(ctx, b); err != nil {
			return err
		}
		convert.SetData(b, history.Entry{Who: history.Controller, Cause: history.Declared}, d.Data, d.Secret, w.now())
		return nil
	})
	return err
}

// recall reads the record of a bag, which no cache has. A later writer of the bag is not overtaken: the bag
// is written in the revision that was seen.
func (w writer) recall(ctx context.Context, b *v1alpha1.Databag) error {
	if b.Status.Version == "" {
		return nil // nothing is stored yet
	}
	var live v1alpha1.Databag
	if err := w.live.Get(ctx, client.ObjectKeyFromObject(b), &live); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot read the record of databag %s: %w", b.Name, err)
	}
	b.Status.Commits, b.Status.Record = live.Status.Commits, live.Status.Record
	return nil
}

func (w writer) remember(ctx context.Context, namespace string, d relation.Remember) error {
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
		convert.SetApplication(a, d.State, w.now())
		return nil
	})
	if err == nil {
		w.events.application(ctx, app, before)
	}
	return err
}

// rollOut starts one rollout of each workload. The same version again changes nothing, so that a crash
// before the record is written costs no second one.
func (w writer) rollOut(ctx context.Context, namespace string, r relation.Rollout) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{application.KeyDataVersion: r.Version}},
	}}})
	if err != nil {
		return fmt.Errorf("cannot write the rollout patch: %w", err)
	}
	for _, workload := range r.Workloads {
		o := object.Named(objectOf(string(workload.Kind)), namespace, workload.Name)
		err := w.client.Patch(ctx, o, client.RawPatch(types.StrategicMergePatchType, patch), client.FieldOwner("relations-controller-restart"))
		if apierrors.IsNotFound(err) {
			continue // deleted meanwhile: nothing is left to restart
		}
		if err != nil {
			return fmt.Errorf("cannot restart %s %s: %w", workload.Kind, workload.Name, err)
		}
		w.events.normal(o, event.Restarted, fmt.Sprintf("restarted for new data of its relations, as %s asks", application.KeyOnChange))
	}
	return nil
}

func (w writer) relate(ctx context.Context, namespace string, d relation.Relate) error {
	r, err := store(ctx, w, convert.ForPair(namespace, d.Pair), func(r *v1alpha1.Relation) error {
		if _, err := convert.ToRelation(r); err != nil {
			return err
		}
		convert.SetRelation(r, d.State, w.now())
		return nil
	})
	if err == nil {
		w.events.normal(r, event.Related, fmt.Sprintf("%s and %s are related by %s", r.Status.Requirer, r.Status.Provider, r.Spec.Interface))
		w.events.relation(r, v1alpha1.RelationStatus{})
	}
	return err
}

func (w writer) update(ctx context.Context, namespace string, d relation.Update) error {
	r, there, err := get(ctx, w, object.Named(&v1alpha1.Relation{}, namespace, d.Name))
	if err != nil || !there || string(r.UID) != d.UID {
		return err
	}
	if _, err := convert.ToRelation(r); err != nil {
		return err // it has changed since the decision
	}
	if r.DeletionTimestamp == nil && controllerutil.AddFinalizer(r, v1alpha1.Finalizer) {
		if err := w.client.Update(ctx, r); err != nil {
			return fmt.Errorf("cannot put the finalizer on relation %s: %w", d.Name, err)
		}
		w.latest.wrote(r)
	}
	before := *r.Status.DeepCopy()
	convert.SetRelation(r, d.State, w.now())
	if err := w.client.Status().Update(ctx, r); err != nil {
		return fmt.Errorf("cannot write the status of relation %s: %w", d.Name, err)
	}
	w.latest.wrote(r)
	w.events.relation(r, before)
	return nil
}

func (w writer) release(ctx context.Context, namespace string, d relation.Release) error {
	r, there, err := get(ctx, w, object.Named(&v1alpha1.Relation{}, namespace, d.Name))
	if err != nil || !there || string(r.UID) != d.UID || !slices.Contains(r.Finalizers, v1alpha1.Finalizer) {
		return err
	}
	controllerutil.RemoveFinalizer(r, v1alpha1.Finalizer)
	if err := w.client.Update(ctx, r); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot release relation %s: %w", d.Name, err)
	}
	return nil
}

func (w writer) answer(ctx context.Context, namespace string, d relation.Answer) error {
	o, there, err := get(ctx, w, object.Named(&v1alpha1.Offer{}, namespace, d.Name))
	if err != nil || !there || string(o.UID) != d.UID {
		return err
	}
	before := *o.Status.DeepCopy()
	convert.SetOffer(o, d.State, w.now())
	if err := w.client.Status().Update(ctx, o); err != nil {
		return fmt.Errorf("cannot write the status of offer %s: %w", o.Name, err)
	}
	w.latest.wrote(o)
	w.events.offer(o, before)
	return nil
}

// withdraw deletes a bag. The bag of a relation in another namespace is kept until the relation is gone
// from the API server itself: the cache may only not show yet what the bag was written for (SAFETY.md
// E13).
func (w writer) withdraw(ctx context.Context, namespace string, d relation.Withdraw) error {
	if d.Home.Namespace != "" {
		var r v1alpha1.Relation
		err := w.live.Get(ctx, client.ObjectKey{Namespace: d.Home.Namespace, Name: d.Home.Name}, &r)
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

func (w writer) remove(ctx context.Context, o client.Object, uid string) error {
	condition := client.Preconditions{UID: (*types.UID)(&uid)}
	err := w.client.Delete(ctx, o, condition, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot delete %s: %w", o.GetName(), err)
	}
	return nil
}
