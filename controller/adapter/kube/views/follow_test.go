package views

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// informers is a cache with running informers, one for each kind, that watch sources in memory.
type informers struct {
	cache.Cache

	ctx     context.Context //nolint:containedctx // the life of one test
	mu      sync.Mutex
	sources map[reflect.Type]*fcache.FakeControllerSource
	missing reflect.Type
}

func (i *informers) source(o client.Object) *fcache.FakeControllerSource {
	i.mu.Lock()
	defer i.mu.Unlock()
	kind := reflect.TypeOf(o)
	if i.sources == nil {
		i.sources = map[reflect.Type]*fcache.FakeControllerSource{}
	}
	if i.sources[kind] == nil {
		i.sources[kind] = fcache.NewFakeControllerSource()
	}
	return i.sources[kind]
}

func (i *informers) GetInformer(_ context.Context, o client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	if reflect.TypeOf(o) == i.missing {
		return nil, errors.New("no such kind")
	}
	informer := toolscache.NewSharedIndexInformer(i.source(o), o, 0, toolscache.Indexers{})
	go informer.RunWithContext(i.ctx)
	return informer, nil
}

// A replica that follows has the present objects at once, and reports each change, of secrets and pods too.
func TestFollow(t *testing.T) {
	all := &informers{ctx: t.Context()}
	app := object.Named(&v1alpha1.RelatedApplication{}, "shop", "blog")
	all.source(app).Add(app)
	reports := make(chan string, 100)
	v := &Views{
		Reader:     kubetest.Memory{},
		Changed:    func(namespace, name string) { reports <- namespace + "/" + name },
		PodChanged: func(namespace, name string) { reports <- "pod " + namespace + "/" + name },
	}
	next := func() string {
		select {
		case report := <-reports:
			return report
		case <-time.After(10 * time.Second):
			return "nothing"
		}
	}
	require.NoError(t, v.Follow(t.Context(), all))
	assert.Equal(t, "shop/blog", next(), "what exists already")

	pod := object.Named(&corev1.Pod{}, "shop", "blog-1")
	all.source(pod).Add(pod)
	assert.Equal(t, "pod shop/blog-1", next())
	all.source(pod).Delete(pod)
	assert.Equal(t, "pod shop/blog-1", next())

	s := object.Named(&v1alpha1.RelatedSecret{Spec: v1alpha1.RelatedSecretSpec{Application: "db"}}, "shop", "one")
	all.source(s).Add(s)
	assert.Equal(t, "shop/db", next())
	s = s.DeepCopy()
	s.Spec.Application = "cache"
	all.source(s).Modify(s)
	assert.Equal(t, []string{"shop/db", "shop/cache"}, []string{next(), next()}, "before and after")

	kinds := []string{}
	for kind := range v.CaughtUp() {
		kinds = append(kinds, kind)
	}
	assert.ElementsMatch(t, []string{"relations", "relatedapplications", "relationsides", "databags", "offers"}, kinds, "SAFETY.md V4")
}

// The units of a record that a replica receives after its relations are reported to the other side: nothing else may change
// any more (RELATIONS.md V3).
func TestUnitsOfALateRecordAreAnnounced(t *testing.T) {
	all, m := &informers{ctx: t.Context()}, kubetest.Memory{}
	m.Put(kubetest.Related("shop", "blog", "shop", "db"))
	reports := make(chan string, 100)
	v := &Views{Reader: m, Changed: func(namespace, name string) { reports <- namespace + "/" + name }}
	require.NoError(t, v.Follow(t.Context(), all))
	db := object.Named(&v1alpha1.RelatedApplication{}, "shop", "db")
	db.State.Units = []v1alpha1.Unit{{Number: 0, PodUID: "uid-0", Address: "10.0.0.1"}}
	all.source(db).Add(db)
	for _, want := range []string{"shop/db", "shop/blog"} {
		select {
		case report := <-reports:
			assert.Equal(t, want, report)
		case <-time.After(10 * time.Second):
			t.Fatalf("%s is not reported", want)
		}
	}
}

// A cluster without one of the kinds is not served half.
func TestFollowFails(t *testing.T) {
	for _, kind := range []client.Object{&v1alpha1.Relation{}, &corev1.Pod{}, &v1alpha1.RelatedSecret{}, object.ReplicaSet()} {
		err := (&Views{Changed: func(string, string) {}}).Follow(t.Context(), &informers{ctx: t.Context(), missing: reflect.TypeOf(kind)})
		require.ErrorContains(t, err, "no such kind")
	}
}
