package kube

import (
	"context"
	"fmt"
	"hash/fnv"
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

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// maxNote is the longest note that the API server takes.
const maxNote = 1024

// negotiate is what the relations controller does.
const negotiate = "Negotiate"

func (w *World) say(about runtime.Object, reason, note string) {
	Tell(w.Events, about, corev1.EventTypeNormal, negotiate, reason, note)
}

func (w *World) warn(about runtime.Object, reason, note string) {
	Tell(w.Events, about, corev1.EventTypeWarning, negotiate, reason, note)
}

// Tell writes an Event: kind is Normal or Warning, action what Orcon was doing. The
// recorder takes two Events that differ in their note alone for one, and shows the older
// note: the action is made to tell them apart. A note of over 1024 bytes is cut.
func Tell(recorder events.EventRecorder, about runtime.Object, kind, action, reason, note string) {
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote-3], "") + "..."
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(note))
	recorder.Eventf(about, nil, kind, reason, fmt.Sprintf("%s-%08x", action, sum.Sum32()), "%s", note)
}

// tellRelation says on the Relation when it became ready, or why it is not.
func (w *World) tellRelation(r *v1alpha1.Relation, before v1alpha1.RelationStatus) {
	for _, c := range news(before.Conditions, r.Status.Conditions) {
		if c.Type == string(condition.Ready) && c.Status == metav1.ConditionTrue {
			w.say(r, "Ready", c.Message)
		} else {
			w.warn(r, c.Reason, c.Message)
		}
	}
}

// tellOffer says on the Offer who begins and ceases to use it, and why nobody can.
func (w *World) tellOffer(o *v1alpha1.Offer, before v1alpha1.OfferStatus) {
	for _, c := range news(before.Conditions, o.Status.Conditions) {
		if c.Status == metav1.ConditionTrue {
			w.say(o, c.Reason, c.Message)
		} else {
			w.warn(o, c.Reason, c.Message)
		}
	}
}

// tellApplication says on the application's own objects what it waits for, and
// on each new pod that it starts to wait with.
func (w *World) tellApplication(ctx context.Context, a *v1alpha1.RelatedApplication, before v1alpha1.RelatedApplicationStatus) {
	for _, o := range a.Status.LeftOut {
		if object := w.object(ctx, a.Namespace, o.Object); object != nil && !slices.Contains(before.LeftOut, o) {
			w.warn(object, o.Reason, o.Message)
		}
	}
	if source := w.source(ctx, a); source != nil {
		for _, c := range news(before.Conditions, a.Status.Conditions) {
			if c.Type != string(condition.Ready) || c.Status != metav1.ConditionTrue {
				w.warn(source, c.Reason, c.Message)
			} else if before.ObservedGeneration > 0 || len(a.Status.Units) > 0 {
				w.say(source, "RelationsReady", c.Message)
			}
		}
	}
	if ready := meta.FindStatusCondition(a.Status.Conditions, string(condition.Ready)); ready != nil && ready.Status != metav1.ConditionTrue {
		w.tellNewPods(a, before, *ready)
	}
}

func (w *World) tellNewPods(a *v1alpha1.RelatedApplication, before v1alpha1.RelatedApplicationStatus, ready metav1.Condition) {
	known := map[string]bool{}
	for _, u := range before.Units {
		known[u.PodUID] = true
	}
	for _, u := range a.Status.Units {
		if !known[u.PodUID] && u.Gone == "" {
			pod := named(&corev1.Pod{}, a.Namespace, u.Pod)
			pod.UID = types.UID(u.PodUID)
			w.warn(pod, ready.Reason, ready.Message)
		}
	}
}

// unsaid are the conditions of which no Event tells: those that go with Ready, what
// hears it itself, and what workloads say of themselves as often as they like.
//
//nolint:gochecknoglobals // a table
var unsaid = []condition.Type{
	condition.Reconciling, condition.Stalled, condition.LeftOut,
	condition.ApplicationStatus, condition.RequirerStatus, condition.ProviderStatus,
}

// news returns the conditions that say something else than before: Ready, and
// the special ones when they are true.
func news(before, after []metav1.Condition) []metav1.Condition {
	var all []metav1.Condition
	for _, c := range after {
		if slices.Contains(unsaid, condition.Type(c.Type)) {
			continue
		}
		old := meta.FindStatusCondition(before, c.Type)
		if old == nil || old.Status != c.Status || old.Message != c.Message {
			all = append(all, c)
		}
	}
	return all
}

// source returns the first object that an application is made of, as the
// informers know it; nil if it is of a kind that they do not.
func (w *World) source(ctx context.Context, a *v1alpha1.RelatedApplication) client.Object {
	if len(a.Status.Sources) == 0 {
		return nil
	}
	return w.object(ctx, a.Namespace, a.Status.Sources[0])
}

// object returns what is written as kind/name; nil if it is not known.
func (w *World) object(ctx context.Context, namespace, written string) client.Object {
	kind, name, _ := strings.Cut(written, "/")
	o := objectOf(kind)
	if o == nil {
		return nil
	}
	if err := w.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
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
