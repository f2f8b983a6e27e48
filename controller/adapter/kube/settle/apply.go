package settle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
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
func get[T client.Object](ctx context.Context, reader client.Reader, latest *latest, o T) (found T, ok bool, err error) {
	unseen := latest.unseen(scopeOf(o))
	err = reader.Get(ctx, client.ObjectKeyFromObject(o), o)
	if err != nil && !apierrors.IsNotFound(err) {
		return o, false, fmt.Errorf("cannot read %T: %w", o, err)
	}
	if written, ok := unseen[o.GetName()].(T); ok && object.Revision(written) > object.Revision(o) {
		o, _ = written.DeepCopyObject().(T)
	}
	return o, o.GetResourceVersion() != "", nil
}

// liveOf returns an object with what no cache has, such as annotations of kubectl on an object that a person
// made. It has the revision that was seen, so that a later writer of the object is not overtaken.
func liveOf[T client.Object](ctx context.Context, w writer, seen T) (T, error) {
	live, _ := reflect.TypeAssert[T](reflect.New(reflect.TypeFor[T]().Elem()))
	if err := w.live.Get(ctx, client.ObjectKeyFromObject(seen), live); err != nil {
		return seen, fmt.Errorf("cannot read %s: %w", seen.GetName(), err)
	}
	live.SetUID(seen.GetUID())
	live.SetResourceVersion(seen.GetResourceVersion())
	return live, nil
}

// store creates or updates the object, and then writes its status. keep and fill must set the object itself
// and its status, from the object as it is, and fail if that cannot be read: it has changed since the decision.
func store[T client.Object](ctx context.Context, w writer, o T, keep, fill func(T) error) (T, error) {
	empty, _ := o.DeepCopyObject().(T)
	found, there, err := get(ctx, w.reader, w.latest, empty)
	if err != nil {
		return o, err
	}
	if !there {
		found = o
	}
	before := found.DeepCopyObject()
	if err := keep(found); err != nil {
		return o, err
	}
	if !there {
		err = w.client.Create(ctx, found)
	} else if !equality.Semantic.DeepEqual(before, found) {
		err = w.client.Update(ctx, found)
	}
	if err != nil {
		return o, fmt.Errorf("cannot write %s: %w", o.GetName(), err)
	}
	w.latest.wrote(found)
	if err := fill(found); err != nil {
		return o, err
	}
	if err := w.client.Status().Update(ctx, found); err != nil {
		return o, fmt.Errorf("cannot write the status of %s: %w", o.GetName(), err)
	}
	w.latest.wrote(found)
	return found, nil
}

// recordOf returns the record of a namespace as last seen or written; ok is false if there is none.
func recordOf(
	ctx context.Context, reader client.Reader, latest *latest, namespace string,
) (record *v1alpha1.RelatedNamespace, ok bool, err error) {
	return get(ctx, reader, latest, object.Named(&v1alpha1.RelatedNamespace{}, namespace, v1alpha1.NamespaceRecord))
}

// count stores the highest id that a relation was given, unless another process has counted since that was decided.
func (w writer) count(ctx context.Context, namespace string, d relation.Count) error {
	n, there, err := recordOf(ctx, w.reader, w.latest, namespace)
	if err = errors.Join(err, w.latest.unmoved(n)); err != nil {
		return err
	}
	n.State.LastRelation = int64(d.LastRelation)
	if there {
		err = w.client.Update(ctx, n)
	} else {
		err = w.client.Create(ctx, n)
	}
	if err != nil {
		return fmt.Errorf("cannot count relation %d: %w", d.LastRelation, err)
	}
	w.latest.wrote(n)
	return nil
}

// counted returns an error if the id of a relation is not counted since it was decided: another relation may have it.
func (w writer) counted(ctx context.Context, namespace string, id int) error {
	n, _, err := recordOf(ctx, w.reader, w.latest, namespace)
	if err = errors.Join(err, w.latest.unmoved(n)); err == nil && int(n.State.LastRelation) < id {
		err = fmt.Errorf("cannot give relation id %d: it is not counted", id)
	}
	return err
}

func (w writer) publish(ctx context.Context, namespace string, d relation.Publish) error {
	bag := object.Named(&v1alpha1.Databag{}, namespace, relation.DatabagName(d.Application, d.Endpoint))
	bag.Spec = convert.ForBag(relation.Databag{Application: d.Application, Endpoint: d.Endpoint})
	seen, there, err := get(ctx, w.reader, w.latest, object.Named(&v1alpha1.Databag{}, namespace, bag.Name))
	if err == nil && there {
		bag, err = liveOf(ctx, w, seen)
	}
	if err == nil {
		_, err = convert.ToDatabag(bag)
	}
	if err != nil {
		return err
	}
	convert.SetData(bag, history.Entry{Who: history.Controller, Cause: history.Declared}, d.Data, d.Secret, w.now())
	if err := object.WriteBag(ctx, w.client, bag); err != nil {
		return fmt.Errorf("cannot write databag %s: %w", bag.Name, err)
	}
	w.latest.wrote(bag)
	return nil
}

func (w writer) remember(ctx context.Context, namespace string, d relation.Remember) error {
	if d.Rollout != nil {
		if err := w.rollOut(ctx, namespace, *d.Rollout); err != nil {
			return err
		}
	}
	var before *v1alpha1.RelatedApplication
	app := object.Named(&v1alpha1.RelatedApplication{}, namespace, d.Name)
	keep := func(a *v1alpha1.RelatedApplication) error {
		before = a.DeepCopy()
		_, err := convert.ToRecord(a)
		if a.State.NextUnit > int64(d.State.NextUnit) { // agents' reports move it too, and hold up no new unit
			err = errors.Join(err, w.latest.unmoved(a))
		}
		convert.KeepApplication(a, d.Record)
		return err
	}
	app, err := store(ctx, w, app, keep, func(a *v1alpha1.RelatedApplication) error {
		convert.SetApplication(a, d.State, w.now())
		return nil
	})
	if err == nil {
		w.events.application(ctx, app, before)
	}
	return err
}

// rollOut starts one rollout of each workload, also if that of another one fails. The same version again changes nothing,
// so that a crash before the record is written costs no second one.
func (w writer) rollOut(ctx context.Context, namespace string, r relation.Rollout) (failed error) {
	for _, workload := range r.Workloads {
		o := object.Named(objectOf(string(workload.Kind)), namespace, workload.Name)
		err := w.reader.Get(ctx, client.ObjectKeyFromObject(o), o)
		if err == nil {
			err = w.restart(ctx, o, workload.Uncopied, r.Version)
		}
		if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			w.events.warning(o, event.RestartRefused, refusedRollout(workload, r)+err.Error())
		}
		switch {
		case err == nil:
			w.events.normal(o, event.Restarted, madeRollout(r))
		case !apierrors.IsNotFound(err): // else it was deleted meanwhile: nothing is left to restart
			failed = errors.Join(failed, fmt.Errorf("cannot restart %s %s: %w", workload.Kind, workload.Name, err))
		}
	}
	return failed
}

// refusedRollout returns what a rollout was for that was refused, with the cure.
func refusedRollout(workload application.Workload, r relation.Rollout) string {
	if r.Version == "" {
		return fmt.Sprintf("its pod template does not get %s, and its pods no agent: change the policy, or write them on the template: ",
			strings.Join(slices.Sorted(maps.Keys(workload.Uncopied)), ", "))
	}
	return "it is not restarted for new data of its relations: change the policy, or run kubectl rollout restart: "
}

// madeRollout returns what a rollout is for.
func madeRollout(r relation.Rollout) string {
	if r.Version == "" {
		return "its pod template got what its declaration says its pods consume, which had not been copied to it"
	}
	return fmt.Sprintf("restarted for new data of its relations, as %s asks", application.KeyOnChange)
}

// restart gives a workload's pods the annotations that they lack, and the version of their data, if there is one,
// unless another process has written the workload.
func (w writer) restart(ctx context.Context, o client.Object, lacking map[string]string, version string) error {
	annotations := maps.Clone(lacking)
	if annotations == nil {
		annotations = map[string]string{}
	}
	if version != "" {
		annotations[application.KeyDataVersion] = version
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": o.GetResourceVersion()},
		"spec": map[string]any{"template": map[string]any{
			"metadata": map[string]any{"annotations": annotations},
		}},
	})
	if err != nil {
		return fmt.Errorf("cannot write the rollout patch: %w", err)
	}
	return w.client.Patch(ctx, o, client.RawPatch(types.StrategicMergePatchType, patch), client.FieldOwner("relations-controller-restart"))
}

func (w writer) relate(ctx context.Context, namespace string, d relation.Relate) error {
	if err := w.counted(ctx, namespace, d.State.ID); err != nil {
		return err
	}
	keep := func(r *v1alpha1.Relation) error {
		_, err := convert.ToRelation(r)
		convert.KeepRelation(r, d.Identity, d.State)
		return err
	}
	r, err := store(ctx, w, convert.ForPair(namespace, d.Pair), keep, func(r *v1alpha1.Relation) error {
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
	r, there, err := get(ctx, w.reader, w.latest, object.Named(&v1alpha1.Relation{}, namespace, d.Name))
	if err != nil || !there || string(r.UID) != d.Object {
		return err
	}
	_, err = convert.ToRelation(r)
	if err = errors.Join(err, w.latest.unmoved(r)); err != nil {
		return err // it has changed since the decision
	}
	if int(r.State.ID) != d.State.ID { // else it is given already
		if err := errors.Join(mayTake(r, d.UID), w.counted(ctx, namespace, d.State.ID)); err != nil {
			return err
		}
	}
	before := *r.Status.DeepCopy()
	writes := []func() error{
		func() (err error) { r, err = identify(ctx, w, r, d); return err },
		func() error { convert.SetRelation(r, d.State, w.now()); return w.client.Status().Update(ctx, r) },
	}
	if convert.Identity(r) != d.UID {
		slices.Reverse(writes) // an heir is current as soon as it has its id: it has all else by then
	}
	for _, write := range writes {
		if err := write(); err != nil {
			return fmt.Errorf("cannot write relation %s: %w", d.Name, err)
		}
		w.latest.wrote(r)
	}
	w.events.relation(r, before)
	return nil
}

// identify stores what cannot be computed again, and returns the object as it is then.
func identify(ctx context.Context, w writer, r *v1alpha1.Relation, d relation.Update) (*v1alpha1.Relation, error) {
	keep := func(r *v1alpha1.Relation) (differs bool) {
		was := r.DeepCopy()
		convert.KeepRelation(r, d.UID, d.State)
		if r.DeletionTimestamp == nil {
			controllerutil.AddFinalizer(r, v1alpha1.Finalizer)
		}
		return !equality.Semantic.DeepEqual(was, r)
	}
	if !keep(r) {
		return r, nil
	}
	live, err := liveOf(ctx, w, r)
	if err == nil && keep(live) {
		err = w.client.Update(ctx, live)
	}
	return live, err
}

// mayTake returns an error if a relation has another identity already.
func mayTake(r *v1alpha1.Relation, identity string) error {
	if stored := r.State.Identity; stored != "" && stored != identity {
		return fmt.Errorf("relation %s has identity %s and cannot take over %s: delete it, and create it again", r.Name, stored, identity)
	}
	return nil
}

func (w writer) release(ctx context.Context, namespace string, d relation.Release) error {
	r, there, err := get(ctx, w.reader, w.latest, object.Named(&v1alpha1.Relation{}, namespace, d.Name))
	if err != nil || !there || string(r.UID) != d.Object || !slices.Contains(r.Finalizers, v1alpha1.Finalizer) {
		return err
	}
	if err := w.latest.unmoved(r); err != nil { // else its bags go, and it stays
		return err
	}
	if err := w.withdraw(ctx, namespace, d.Bags...); err != nil {
		return err
	}
	if r, err = liveOf(ctx, w, r); err != nil {
		return client.IgnoreNotFound(err)
	}
	controllerutil.RemoveFinalizer(r, v1alpha1.Finalizer)
	if err := w.client.Update(ctx, r); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot release relation %s: %w", d.Name, err)
	}
	return nil
}

// withdraw deletes bags.
func (w writer) withdraw(ctx context.Context, namespace string, bags ...relation.Databag) error {
	for _, d := range bags {
		bag, there, err := get(ctx, w.reader, w.latest, object.Named(&v1alpha1.Databag{}, namespace, d.Name()))
		if err == nil && there {
			err = w.delete(ctx, bag)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the object that the decision was about.
func remove[T client.Object](ctx context.Context, w writer, o T, uid string) error {
	seen, there, err := get(ctx, w.reader, w.latest, o)
	if err != nil || !there || string(seen.GetUID()) != uid {
		return err
	}
	return w.delete(ctx, seen)
}

// delete deletes an object as it was observed.
func (w writer) delete(ctx context.Context, seen client.Object) error {
	err := w.latest.unmoved(seen)
	if err == nil {
		err = w.client.Delete(ctx, seen, object.Unchanged(seen), client.PropagationPolicy(metav1.DeletePropagationBackground))
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot delete %s: %w", seen.GetName(), err)
	}
	return nil
}
