package cluster

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	discoveryv1 "k8s.io/api/discovery/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// judge fills in how an object is, why, and since when.
func (w *World) judge(ctx context.Context, id bundle.ID, o *unstructured.Unstructured, l *bundle.Live) error {
	result, err := status.Compute(o)
	if err != nil {
		return fmt.Errorf("cannot judge the health of %s: %w", id, err)
	}
	l.Health, l.Says, l.Since = bundle.InProgress, plain(result.Message), progress(o)
	if w.Probes != nil {
		if health, says, known := w.Probes.Judge(l.Object); known {
			l.Health, l.Says = health, says
			return nil
		}
	}
	switch result.Status {
	case status.FailedStatus:
		l.Health = bundle.Failing
	case status.CurrentStatus:
		l.Health, l.Says = available(o)
	default: // what is deleted, unknown or not there is on its way
	}
	switch {
	case id.Kind == "Service" && id.Group == "":
		return w.serving(ctx, id, l)
	case id.Kind == "PersistentVolumeClaim" && l.Health == bundle.InProgress:
		return w.claim(ctx, l)
	case l.Health != bundle.Ready || isJob(id):
		return w.troubles(ctx, id, o, l)
	}
	return w.settled(ctx, id, o, l)
}

// counts is how kstatus describes a workload whose pods are not all there.
var counts = regexp.MustCompile(`^(Replicas|Available|Ready|Updated): (\d+)/(\d+)$`)

// plain puts what kstatus reports of a workload into words.
func plain(message string) string {
	if number, surplus := strings.CutPrefix(message, "Pending termination: "); surplus {
		return "old pods still run: " + number
	}
	m := counts.FindStringSubmatch(message)
	if m == nil {
		return message
	}
	state := map[string]string{"Replicas": "created", "Available": "available", "Ready": "ready", "Updated": "updated"}[m[1]]
	return fmt.Sprintf("%s of %s pods are %s", m[2], m[3], state)
}

// available is the health of what has no known trouble. Custom kinds that say Available
// are taken at their word; of those that say nothing, being there is all that is known.
func available(o *unstructured.Unstructured) (bundle.Health, string) {
	if status.GetLegacyConditionsFn(o) == nil {
		for _, c := range conditions(o) {
			if c.Text("type") == "Available" && c.Text("status") != "True" {
				return bundle.InProgress, c.Text("message")
			}
		}
	}
	return bundle.Ready, ""
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
	if !l.Serving {
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
