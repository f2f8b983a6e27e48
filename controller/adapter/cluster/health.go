package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
)

// judge fills in the health of an object, why, and since when. That something about it cannot be read
// stops no other object: it is in progress, and says so (CONTENT.md H1).
func (w *World) judge(ctx context.Context, id bundle.ID, o *unstructured.Unstructured, l *bundle.Live) error {
	v := health.Judge(o.Object, knowledge(w.Probes, w.Library, w.kinds, o), time.Now())
	l.Health, l.Says, l.Since = healthOf(v), v.Says, progress(o)
	if _, probed := probe(w.Probes)(o.Object); probed {
		return nil
	}
	var err error
	switch {
	case id.Kind == "Service" && id.Group == "":
		err = w.serving(ctx, id, l)
	case id.Kind == "PersistentVolumeClaim" && id.Group == "" && l.Health == bundle.InProgress:
		err = w.claim(ctx, l)
	case l.Health != bundle.Ready || isJob(id):
		err = w.troubles(ctx, id, o, l)
	default:
		err = w.settled(ctx, id, o, l)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	l.Health, l.Says = bundle.InProgress, "cannot be judged: "+err.Error()
	return nil
}

// healthOf returns the health that a verdict means for a deployment. What is suspended because its own
// spec asks for it is as it ought to be.
func healthOf(v health.Verdict) bundle.Health {
	switch {
	case v.State == health.Ready, v.Intended():
		return bundle.Ready
	case v.Silent:
		return bundle.Unknown
	case v.State == health.Failing && v.Terminal:
		return bundle.Broken
	case v.State == health.Failing:
		return bundle.Failing
	}
	return bundle.InProgress
}

// knowledge returns what is known of an object besides itself. Its kind is looked up only where that
// decides.
func knowledge(user, library Probes, from kinds, o *unstructured.Unstructured) health.Knowledge {
	k := health.Knowledge{User: probe(user), Library: probe(library)}
	if status, _ := o.Object["status"].(map[string]any); len(status) == 0 && from != nil && !health.IsBuiltin(o.GroupVersionKind().Group) {
		k.Status = presence(from, o)
	}
	return k
}

// probe returns what probes find; nothing where there are none.
func probe(p Probes) health.Finder {
	if p == nil {
		return func(map[string]any) (health.Opinion, bool) { return health.Opinion{}, false }
	}
	return p.Probe
}

// kinds lists the resources of an API group's version.
type kinds interface {
	ServerResourcesForGroupVersion(version string) (*metav1.APIResourceList, error)
}

// presence reports whether objects of a kind have a status.
func presence(from kinds, o *unstructured.Unstructured) health.Presence {
	resources, err := from.ServerResourcesForGroupVersion(o.GetAPIVersion())
	if err != nil {
		return health.Unsure
	}
	for _, r := range resources.APIResources {
		if r.Kind == o.GetKind() && strings.HasSuffix(r.Name, "/status") {
			return health.Present
		}
	}
	return health.Absent
}

func conditions(o *unstructured.Unstructured) []bundle.Object {
	list, _ := bundle.Object(o.Object).At("status", "conditions").([]any)
	var all []bundle.Object
	for _, one := range list {
		fields, _ := one.(map[string]any)
		all = append(all, fields)
	}
	return all
}

// progress is when an object last came closer to being healthy: when it was written, or
// when a condition moved.
func progress(o *unstructured.Unstructured) time.Time {
	last := written(o)
	for _, c := range conditions(o) {
		for _, field := range []string{"lastUpdateTime", "lastTransitionTime"} {
			if at, err := time.Parse(time.RFC3339, c.Text(field)); err == nil {
				last = later(last, at)
			}
		}
	}
	return last
}

// written is when this manager last changed the object, or when it was made.
func written(o *unstructured.Unstructured) time.Time {
	last := o.GetCreationTimestamp().Time
	for _, entry := range o.GetManagedFields() {
		if entry.Manager == Manager && entry.Subresource == "" && entry.Time != nil {
			last = later(last, entry.Time.Time)
		}
	}
	return last
}

// serving tells whether a Service answers: whether it has a ready endpoint, or selects
// nothing.
func (w *World) serving(ctx context.Context, id bundle.ID, l *bundle.Live) error {
	if selector, _ := l.Object.At("spec", "selector").(map[string]any); len(selector) == 0 {
		l.Serving = true
		return nil
	}
	var slices discoveryv1.EndpointSliceList
	if err := w.client.List(ctx, &slices, client.InNamespace(id.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: id.Name}); err != nil {
		return fmt.Errorf("cannot list the endpoints of %s: %w", id, err)
	}
	for _, slice := range slices.Items {
		for _, e := range slice.Endpoints {
			l.Serving = l.Serving || e.Conditions.Ready == nil || *e.Conditions.Ready
		}
	}
	if !l.Serving && l.Health == bundle.Ready {
		l.Says = "no endpoint is ready"
	}
	return nil
}

// claim calls a claim healthy that waits for its first consumer: the consumer waits for it.
// An account that may not read classes takes every claim for one: its pods show it if not. Of
// another claim it reports why the cluster does not bind it.
func (w *World) claim(ctx context.Context, l *bundle.Live) error {
	var class storagev1.StorageClass
	name := l.Object.Text("spec", "storageClassName")
	if name == "" {
		return unbound(ctx, w.client, l)
	}
	err := w.client.Get(ctx, client.ObjectKey{Name: name}, &class)
	if client.IgnoreNotFound(err) != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("cannot read storage class %s: %w", name, err)
	}
	waits := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	if (waits || apierrors.IsForbidden(err)) && l.Object.Text("status", "phase") == "Pending" {
		l.Health, l.Says = bundle.Ready, ""
		return nil
	}
	return unbound(ctx, w.client, l)
}

// unbound fills in why a claim is not bound, as far as an Event of the cluster tells.
func unbound(ctx context.Context, c client.Reader, l *bundle.Live) error {
	l.Says = "it is not bound to a volume yet"
	about := client.MatchingFields{"involvedObject.uid": l.Object.Text("metadata", "uid")}
	events, err := eventsOf(ctx, c, l.Object.Text("metadata", "namespace"), about)
	if why := newest(events); why != "" {
		l.Says = "it is not bound to a volume: " + why
	}
	return err
}
