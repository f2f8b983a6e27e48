package settle

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/event"
)

// eventWriter writes the Events of the relations controller.
type eventWriter struct {
	// reader finds the objects that Events are about.
	reader client.Reader
	events events.EventRecorder
}

func (t eventWriter) normal(about runtime.Object, reason, note string) {
	object.WriteEvent(t.events, about, corev1.EventTypeNormal, event.Negotiate, reason, note)
}

func (t eventWriter) warning(about runtime.Object, reason, note string) {
	object.WriteEvent(t.events, about, corev1.EventTypeWarning, event.Negotiate, reason, note)
}

// relation writes on a Relation that it became ready, or why it is not.
func (t eventWriter) relation(r *v1alpha1.Relation, before v1alpha1.RelationStatus) {
	for _, c := range news(before.Conditions, r.Status.Conditions) {
		if c.Type == string(condition.Ready) && c.Status == metav1.ConditionTrue {
			t.normal(r, event.Ready, c.Message)
		} else {
			t.warning(r, c.Reason, c.Message)
		}
	}
}

// offer writes on an Offer which relations begin and cease to use it, and why none can.
func (t eventWriter) offer(o *v1alpha1.Offer, before v1alpha1.OfferStatus) {
	for _, c := range news(before.Conditions, o.Status.Conditions) {
		if c.Status == metav1.ConditionTrue && c.Type == string(condition.Ready) {
			t.normal(o, c.Reason, c.Message)
		} else {
			t.warning(o, c.Reason, c.Message)
		}
	}
}

// application writes what an application waits for, on its own objects and on each new pod.
// A bare Pod is both, and has each Event once. A pod has no Event about another pod.
func (t eventWriter) application(ctx context.Context, a, before *v1alpha1.RelatedApplication) {
	t.ignored(ctx, a, before)
	var done types.UID
	if source := t.first(ctx, a); source != nil {
		done = t.source(source, a, before)
	}
	ready, found := value.Why(a.Status.Conditions)
	if found && ready.Status != metav1.ConditionTrue && !refers(ready, a.Status.Conditions) {
		t.newPods(a, before, ready, done)
	}
}

// ignored writes on each object that is ignored from now on, and on each of its pods.
func (t eventWriter) ignored(ctx context.Context, a, before *v1alpha1.RelatedApplication) {
	for _, o := range a.Status.Exclusions {
		var known []string
		for _, was := range before.Status.Exclusions {
			if was.Message == o.Message {
				known = append(known, withPods(was)...)
			}
		}
		for _, written := range withPods(o) {
			if slices.Contains(known, written) {
				continue
			}
			if ignored := t.object(ctx, a.Namespace, written); ignored != nil {
				t.warning(ignored, o.Reason, o.Message)
			}
		}
	}
}

// withPods returns an ignored object and its pods, as kind/name.
func withPods(o v1alpha1.Exclusion) []string {
	all := []string{o.Object}
	for _, pod := range o.Pods {
		if written := "Pod/" + pod; written != o.Object {
			all = append(all, written)
		}
	}
	return all
}

// source writes the conditions of an application on its first object, and returns the UID of that object if one of
// them is Ready.
func (t eventWriter) source(source client.Object, a, before *v1alpha1.RelatedApplication) (done types.UID) {
	_, bare := source.(*corev1.Pod)
	for _, c := range news(before.Status.Conditions, a.Status.Conditions) {
		switch {
		case bare && c.Type == string(condition.HandlerFailed): // Statuses.Report has written it on the pod
		case c.Type != string(condition.Ready) || c.Status != metav1.ConditionTrue:
			t.warning(source, c.Reason, c.Message)
		case before.Status.ObservedGeneration > 0 || len(a.State.Units) > 0:
			t.normal(source, event.RelationsReady, c.Message)
		}
		if c.Type == string(condition.Ready) {
			done = source.GetUID()
		}
	}
	return done
}

// newPods writes an Event on each pod that is a unit from now on, except on the one that has it already.
func (t eventWriter) newPods(a, before *v1alpha1.RelatedApplication,
	ready metav1.Condition, done types.UID) {
	known := map[types.UID]bool{done: true}
	for _, u := range before.State.Units {
		known[types.UID(u.PodUID)] = true
	}
	for _, u := range a.State.Units {
		if !known[types.UID(u.PodUID)] && u.DepartureReason == "" {
			pod := object.Named(&corev1.Pod{}, a.Namespace, u.Pod)
			pod.UID = types.UID(u.PodUID)
			t.warning(pod, ready.Reason, ready.Message)
		}
	}
}

// silent are the conditions without Events: those that repeat Ready, those whose objects
// get their own, and the statuses that workloads set as often as they like.
//
//nolint:gochecknoglobals // a table
var silent = []condition.Type{
	condition.Reconciling, condition.Stalled, condition.LeftOut,
	condition.ApplicationStatus, condition.RequirerStatus, condition.ProviderStatus,
}

// news returns the conditions that changed: Ready, with the whole of its message, and the
// special ones while they are true. Ready that only refers to one of those is not news.
func news(before, after []metav1.Condition) []metav1.Condition {
	was, is := whole(before), whole(after)
	var all []metav1.Condition
	for _, c := range is {
		if refers(c, is) || slices.Contains(silent, condition.Type(c.Type)) {
			continue
		}
		old := meta.FindStatusCondition(was, c.Type)
		if old == nil || old.Status != c.Status || old.Message != c.Message {
			all = append(all, c)
		}
	}
	return all
}

// refers reports whether Ready is false and only names another condition.
func refers(ready metav1.Condition, all []metav1.Condition) bool {
	return ready.Type == string(condition.Ready) && ready.Status != metav1.ConditionTrue && meta.IsStatusConditionTrue(all, ready.Reason)
}

// whole returns conditions with the whole of Ready's message.
func whole(all []metav1.Condition) []metav1.Condition {
	all = slices.Clone(all)
	for i := range all {
		if why, found := value.Why(all); found && all[i].Type == string(condition.Ready) {
			all[i] = why
		}
	}
	return all
}

// first returns the first object of an application, from the caches; nil if they do not have its kind.
func (t eventWriter) first(ctx context.Context, a *v1alpha1.RelatedApplication) client.Object {
	if len(a.Status.Sources) == 0 {
		return nil
	}
	return t.object(ctx, a.Namespace, a.Status.Sources[0])
}

// object returns the object of a reference kind/name; nil if the caches do not have it.
func (t eventWriter) object(ctx context.Context, namespace, written string) client.Object {
	kind, name, _ := strings.Cut(written, "/")
	o := objectOf(kind)
	if o == nil {
		return nil
	}
	if err := t.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		return nil
	}
	return o
}

func objectOf(kind string) client.Object {
	switch kind {
	case "Deployment":
		return &appsv1.Deployment{}
	case "StatefulSet":
		return &appsv1.StatefulSet{}
	case "DaemonSet":
		return &appsv1.DaemonSet{}
	case "Job":
		return &batchv1.Job{}
	case "CronJob":
		return &batchv1.CronJob{}
	case "Pod":
		return &corev1.Pod{}
	case "Service":
		return &corev1.Service{}
	default:
		return nil
	}
}
