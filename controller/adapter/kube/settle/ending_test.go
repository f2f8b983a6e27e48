package settle

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A namespace ends by its deletionTimestamp, or if the API server does not have it: a cache may lack it (TRUST.md U7).
func TestObserveEnding(t *testing.T) {
	ending := kubetest.OptedIn("shop")
	ending.SetDeletionTimestamp(&metav1.Time{Time: kubetest.Epoch()})
	cached, stored := []client.Object{kubetest.OptedIn("shop")}, kubetest.OptedIn("shop")
	for name, test := range map[string]struct {
		why            string
		cached, stored []client.Object
		ending         bool
	}{
		"Here":    {why: "both have it", cached: cached, stored: []client.Object{stored}},
		"Deleted": {why: "it is being deleted", cached: []client.Object{ending}, stored: []client.Object{ending}, ending: true},
		"Lagging": {why: "the cache does not have it yet", stored: []client.Object{stored}},
		"Gone":    {why: "the API server does not have it", ending: true},
	} {
		t.Run(name, func(t *testing.T) {
			cache, server := kubetest.Memory{}, kubetest.Memory{}
			cache.Put(test.cached...)
			server.Put(test.stored...)
			s, err := (&Settler{Reader: cache, Live: server, Now: kubetest.Epoch}).Observe(t.Context(), "shop")
			require.NoError(t, err)
			assert.Equal(t, test.ending, s.Ending, test.why)
			assert.Equal(t, name == "Gone", s.OptedOut)
		})
	}
	fails := kubetest.Failing{Reader: kubetest.Memory{}, Kind: reflect.TypeFor[*corev1.Namespace]()}
	o := observer{reader: kubetest.Memory{}, live: fails}
	require.Error(t, o.namespace(t.Context(), &relation.Snapshot{Namespace: "shop"}), "a read that fails shows nothing")
}

// partial is a cache that does not have all ReplicaSets.
type partial struct{ client.Reader }

func (p partial) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if _, metadata := into.(*metav1.PartialObjectMetadata); metadata {
		return object.ErrIncomplete
	}
	return p.Reader.Get(ctx, key, into, opts...)
}

// A namespace is not judged by caches that lack part of it, and a pod is not that of no workload because the cache of
// what is between them is late (TRUST.md U7).
func TestObserveIsComplete(t *testing.T) {
	m := kubetest.Memory{}
	pod := kubetest.PodOf("ReplicaSet", "web-1")
	pod.Namespace = "shop"
	m.Put(kubetest.OptedIn("shop"), pod)
	_, err := (&Settler{Reader: m, Live: m, Now: kubetest.Epoch}).Observe(t.Context(), "shop")
	require.NoError(t, err, "a ReplicaSet that is missing in a cache which has all others")
	_, err = (&Settler{Reader: partial{m}, Live: m, Now: kubetest.Epoch}).Observe(t.Context(), "shop")
	require.ErrorIs(t, err, object.ErrIncomplete)
}
