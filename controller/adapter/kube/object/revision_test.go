package object_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

func TestRevision(t *testing.T) {
	for text, want := range map[string]uint64{"": 0, "7": 7, "18446744073709551615": 18446744073709551615, "not a number": 0} {
		o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: text}}
		assert.Equal(t, want, object.Revision(o), text)
	}
}

func TestOffersOf(t *testing.T) {
	m := kubetest.Memory{}
	for name, revision := range map[string]string{"all": "7", "some": "9"} {
		o := object.Named(&v1alpha1.Offer{}, "data", name)
		o.ResourceVersion, o.Spec = revision, v1alpha1.OfferSpec{Application: "db", Endpoint: "db", Consumers: []string{"shop"}}
		m.Put(o)
	}
	m.Put(object.Named(&v1alpha1.Offer{}, "elsewhere", "mine"))
	offers, newest, err := object.OffersOf(t.Context(), m, "data")
	require.NoError(t, err)
	assert.Equal(t, uint64(9), newest)
	require.Len(t, offers, 2)
	assert.Equal(t, "all", offers[0].Name)
	assert.Equal(t, "data", offers[0].Namespace)

	_, _, err = object.OffersOf(t.Context(), kubetest.Silent{Failed: errors.New("no connection")}, "data")
	require.ErrorContains(t, err, "cannot list the offers of namespace data: no connection")
}

func TestFinished(t *testing.T) {
	for phase, want := range map[corev1.PodPhase]bool{corev1.PodRunning: false, corev1.PodPending: false, corev1.PodSucceeded: true, corev1.PodFailed: true} {
		assert.Equal(t, want, object.Finished(&corev1.Pod{Status: corev1.PodStatus{Phase: phase}}), string(phase))
	}
}

// informers is a cache with the informers of one kind.
type informers struct {
	cache.Cache

	informer cache.Informer
	failed   error
}

func (i informers) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return i.informer, i.failed
}

func TestStoreOf(t *testing.T) {
	informer := toolscache.NewSharedIndexInformer(nil, &corev1.Pod{}, 0, toolscache.Indexers{})
	store, err := object.StoreOf(t.Context(), informers{informer: informer}, &corev1.Pod{})
	require.NoError(t, err)
	assert.Equal(t, informer.GetStore(), store)

	_, err = object.StoreOf(t.Context(), informers{failed: errors.New("no such kind")}, &corev1.Pod{})
	require.ErrorContains(t, err, "cannot watch *v1.Pod: no such kind")
	_, err = object.StoreOf(t.Context(), informers{}, &corev1.Pod{})
	require.ErrorContains(t, err, "cannot follow *v1.Pod")
}

// An object that was made anew, or that has changed, is not the one that was read.
func TestUnchanged(t *testing.T) {
	o := object.Named(&v1alpha1.RelatedSecret{}, "shop", "a")
	o.UID, o.ResourceVersion = "uid-a", "7"
	condition := object.Unchanged(o)
	o.UID, o.ResourceVersion = "uid-b", "8"
	assert.Equal(t, types.UID("uid-a"), *condition.UID)
	assert.Equal(t, "7", *condition.ResourceVersion)
}
