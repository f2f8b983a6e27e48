package cluster

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	selectors "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// eventful is a cluster that has Events only, or forbids reading them.
type eventful struct {
	client.Client

	events    []corev1.Event
	forbidden bool
}

// List lists the Events of a namespace that the selector matches.
func (c eventful) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	if c.forbidden {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", nil)
	}
	var o client.ListOptions
	o.ApplyOptions(options)
	for _, e := range c.events {
		if e.Namespace == o.Namespace && o.FieldSelector.Matches(selectors.Set{"involvedObject.uid": string(e.InvolvedObject.UID), "type": e.Type}) {
			list.(*corev1.EventList).Items = append(list.(*corev1.EventList).Items, e) //nolint:forcetypeassert // nothing else is listed
		}
	}
	return nil
}

func eventOf(uid types.UID, message string) corev1.Event {
	return corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, InvolvedObject: corev1.ObjectReference{UID: uid}, Type: corev1.EventTypeNormal, Message: message}
}

// Only the cluster's Event tells why a claim is not bound.
func TestUnbound(t *testing.T) {
	const why = "no persistent volumes available for this claim and no storage class is set"
	tests := map[string]struct {
		why     string
		cluster eventful
		want    string
	}{
		"Event":     {"the cluster's own reason", eventful{events: []corev1.Event{eventOf("other", "another"), eventOf("u", why)}}, "it is not bound to a volume: " + why},
		"None":      {"it may still come", eventful{}, "it is not bound to a volume yet"},
		"Forbidden": {"the account may not read Events", eventful{forbidden: true}, "it is not bound to a volume yet"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			w := &World{client: tc.cluster}
			l := &bundle.Live{Health: bundle.InProgress, Says: "PVC is not Bound. phase: Pending", Object: bundle.Object{
				"metadata": map[string]any{"namespace": "shop", "uid": "u"}, "status": map[string]any{"phase": "Pending"}}}
			require.NoError(t, w.claim(t.Context(), l))
			assert.Equal(t, tc.want, l.Says, tc.why)
			assert.Equal(t, bundle.InProgress, l.Health)
		})
	}
}

// A workload whose pod runs and is not ready names the probe that fails, after what it lacks.
func TestProbed(t *testing.T) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u"}, Status: corev1.PodStatus{
		ContainerStatuses: []corev1.ContainerStatus{{Name: "web", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}}
	failed := eventOf("u", "Readiness probe failed: refused")
	failed.Reason, failed.InvolvedObject.FieldPath = "Unhealthy", "spec.containers{web}"
	says, log, err := probed(t.Context(), eventful{events: []corev1.Event{failed}}, p, "0 of 1 pods are available")
	require.NoError(t, err)
	assert.Equal(t, "0 of 1 pods are available; container web of pod web-1 is not ready: Readiness probe failed: refused; see kubectl -n shop logs web-1 -c web", log.After(says))

	says, _, err = probed(t.Context(), eventful{forbidden: true}, p, "0 of 1 pods are available")
	require.NoError(t, err, "an account that may not read Events is told less")
	assert.Empty(t, says)
}
