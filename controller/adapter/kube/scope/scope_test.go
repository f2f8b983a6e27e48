package scope

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// informer calls its handler when a test does.
type informer struct {
	handler cache.ResourceEventHandler
	synced  bool
	// ended is why no handler can be added; nil if one can.
	ended error
}

func (i *informer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handler = handler
	return i, i.ended
}

func (i *informer) HasSynced() bool                     { return i.synced }
func (i *informer) HasSyncedChecker() cache.DoneChecker { return nil }

// A namespace participates while it has opted in, holds an object of Orcon, or holds a pod with an agent (TRUST.md U7).
func TestParticipants(t *testing.T) {
	namespaces, relations := &informer{synced: true}, &informer{synced: true}
	p := newScope(nil)
	require.NoError(t, p.follow(namespaces))
	require.NoError(t, p.follow(relations))
	close(p.followed)
	changed := make(chan struct{}, 1)
	p.changed = append(p.changed, changed)
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	opted := shop.DeepCopy()
	opted.Labels = map[string]string{application.LabelOptIn: application.OptedIn}
	ending := opted.DeepCopy()
	ending.DeletionTimestamp = &metav1.Time{}
	related := object.Named(&v1alpha1.Relation{}, "shop", "db")
	steps := []struct {
		why     string
		step    func()
		want    bool
		changed bool
	}{
		{"no label", func() { namespaces.handler.OnAdd(shop, true) }, false, false},
		{"it opts in", func() { namespaces.handler.OnUpdate(shop, opted) }, true, true},
		{"its relations end in order", func() { namespaces.handler.OnUpdate(opted, ending) }, true, false},
		{"a Relation", func() { relations.handler.OnAdd(related, false) }, true, false},
		{"it opts out", func() { namespaces.handler.OnUpdate(ending, shop) }, true, false},
		{"the Relation changes", func() { relations.handler.OnUpdate(related, related) }, true, false},
		{"a pod with an agent", func() { p.inject("shop", "web", true) }, true, false},
		{"the Relation has gone", func() { relations.handler.OnDelete(cache.DeletedFinalStateUnknown{Obj: related}) }, true, false},
		{"the pod has gone", func() { p.inject("shop", "web", false) }, false, true},
		{"a pod in a list", func() { p.injectAll(map[string]map[string]bool{"shop": {"web": true}}) }, true, true},
		{"no pod in a list", func() { p.injectAll(nil) }, false, true},
		{"it opts in again", func() { namespaces.handler.OnUpdate(shop, opted) }, true, true},
		{"it has gone", func() { namespaces.handler.OnDelete(opted) }, false, true},
		{"unknown", func() { relations.handler.OnDelete("not an object") }, false, false},
	}
	for _, s := range steps {
		s.step()
		names, err := p.names(t.Context())
		require.NoError(t, err)
		assert.Equal(t, s.want, names["shop"], s.why)
		select {
		case <-changed:
			assert.True(t, s.changed, s.why)
		default:
			assert.False(t, s.changed, s.why)
		}
	}
}

// Nothing is known of namespaces before all that shows them has been read.
func TestParticipantsAreNotKnown(t *testing.T) {
	late := &informer{}
	p := newScope(nil)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := p.names(ended)
	require.ErrorIs(t, err, context.Canceled, "nothing is followed yet")
	require.NoError(t, p.follow(late))
	close(p.followed)
	_, err = p.names(ended)
	require.ErrorIs(t, err, context.Canceled, "it has not synced")
	refused := errors.New("it has ended")
	require.ErrorIs(t, p.follow(&informer{ended: refused}), refused)
}

// shelf is a cache of pods. Reading it takes as long as a change.
type shelf struct {
	client.Reader

	change func()
	fails  error
}

func (s shelf) List(context.Context, client.ObjectList, ...client.ListOption) error {
	s.change()
	return s.fails
}

func (s shelf) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	s.change()
	return s.fails
}

// A cache is read only where it has all objects from beginning to end (TRUST.md U7).
func TestReader(t *testing.T) {
	missing := apierrors.NewNotFound(corev1.Resource("pods"), "web")
	tests := map[string]struct {
		why    string
		before func(*filter)
		change func(*filter)
		fails  error
		want   error
	}{
		"Complete":    {why: "nothing changes"},
		"Missing":     {why: "what is missing has gone", fails: missing, want: missing},
		"NotYet":      {why: "it has not joined", before: func(f *filter) { f.leave("shop") }, fails: missing, want: object.ErrIncomplete},
		"Empty":       {why: "the store has no list yet", before: func(f *filter) { f.synced = func() bool { return false } }, want: object.ErrIncomplete},
		"NoLonger":    {why: "it leaves meanwhile", change: func(f *filter) { f.leave("shop") }, fails: missing, want: object.ErrIncomplete},
		"JoinedAgain": {why: "it left in between", change: func(f *filter) { f.join("shop", "9") }, want: object.ErrIncomplete},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScope(nil)
			f := s.bound(&cache.ListWatch{}, &corev1.Pod{})
			require.NotNil(t, f)
			f.register(nil, func() bool { return true })
			for _, read := range []func(client.Reader) error{
				func(r client.Reader) error { return r.List(t.Context(), &corev1.PodList{}, client.InNamespace("shop")) },
				func(r client.Reader) error {
					return r.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &corev1.Pod{})
				},
			} {
				f.join("shop", "7")
				if test.before != nil {
					test.before(f)
				}
				err := read(s.Reader(shelf{fails: test.fails, change: func() {
					if test.change != nil {
						test.change(f)
					}
				}}))
				require.ErrorIs(t, err, test.want, test.why)
			}
		})
	}
}

// Kinds that make a namespace participate, and those of no namespace, are read as they are; a kind that no cache has is
// not complete.
func TestReaderOfOtherKinds(t *testing.T) {
	s := newScope(nil)
	read := 0
	r := s.Reader(shelf{change: func() { read++ }})
	require.NoError(t, r.List(t.Context(), &v1alpha1.RelationList{}, client.InNamespace("shop")))
	require.NoError(t, r.Get(t.Context(), client.ObjectKey{Name: "shop"}, &corev1.Namespace{}))
	assert.Equal(t, 2, read)
	for _, list := range []client.ObjectList{&batchv1.JobList{}, &networkingv1.NetworkPolicyList{}, &appsv1.DeploymentList{}} {
		require.ErrorIs(t, r.List(t.Context(), list, client.InNamespace("shop")), object.ErrIncomplete)
	}
	require.ErrorIs(t, r.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-1"}, object.ReplicaSet()), object.ErrIncomplete)
	assert.Nil(t, s.bound(&cache.ListWatch{}, &corev1.Node{}), "nodes are in no namespace")
	assert.Nil(t, s.bound(&cache.ListWatch{}, &v1alpha1.Relation{}))
}

// Informers of kinds that any namespace has are filtered; others are as they were.
func TestCacheOptions(t *testing.T) {
	s := newScope(nil)
	others := 0
	o := s.CacheOptions(crcache.Options{NewInformer: func(
		from cache.ListerWatcher, of runtime.Object, resync time.Duration, indexers cache.Indexers,
	) cache.SharedIndexInformer {
		others++
		return cache.NewSharedIndexInformer(from, of, resync, indexers)
	}})
	for _, kind := range bounded() {
		assert.NotNil(t, o.NewInformer(&cache.ListWatch{}, kind, 0, cache.Indexers{}))
	}
	assert.Zero(t, others)
	assert.Len(t, s.filters, len(bounded()))
	o.NewInformer(&cache.ListWatch{}, &corev1.Namespace{}, 0, cache.Indexers{})
	assert.Equal(t, 1, others)
	plain := s.CacheOptions(crcache.Options{})
	assert.NotNil(t, plain.NewInformer(&cache.ListWatch{}, &corev1.Namespace{}, 0, cache.Indexers{}))
}

// paged is an API server that has pages of one object each.
type paged struct {
	client.Reader

	pages []string
	fails error
}

func (p *paged) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	if p.fails != nil || o.Namespace != "shop" || o.Limit == 0 {
		return p.fails
	}
	into.SetResourceVersion("7")
	if len(o.Continue) < len(p.pages)-1 {
		into.SetContinue(o.Continue + "+")
	}
	meta := metav1.ObjectMeta{Namespace: "shop", Name: p.pages[len(o.Continue)]}
	switch list := into.(type) {
	case *corev1.PodList:
		list.Items = []corev1.Pod{{ObjectMeta: meta}}
	case *metav1.PartialObjectMetadataList:
		list.Items = []metav1.PartialObjectMetadata{{ObjectMeta: meta}}
	}
	return nil
}

// A namespace is listed page by page, of each kind as its cache has it.
func TestListLive(t *testing.T) {
	server := &paged{pages: []string{"a", "b", "c"}}
	p := newScope(server)
	for _, kind := range []client.Object{&corev1.Pod{}, object.ReplicaSet()} {
		all, at, err := p.listLive(kind)(t.Context(), "shop")
		require.NoError(t, err)
		assert.Equal(t, "7", at)
		require.Len(t, all, 3)
		assert.Equal(t, kindOf(kind), kindOf(all[2]))
		assert.IsType(t, kind, all[0])
	}
	for _, kind := range bounded() {
		_, err := emptyList(kind)
		require.NoError(t, err)
	}
	server.fails = errors.New("no route")
	_, _, err := p.listLive(&corev1.Pod{})(t.Context(), "shop")
	require.ErrorIs(t, err, server.fails)
	_, err = emptyList(&v1alpha1.Relation{})
	require.Error(t, err)
}
