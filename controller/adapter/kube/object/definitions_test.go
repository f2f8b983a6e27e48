package object

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// defined is an API server that has one definition, or an error.
type defined struct {
	client.Reader

	mu         sync.Mutex
	definition metav1.PartialObjectMetadata
	failed     error
}

func newDefined() *defined {
	return &defined{definition: metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "databags.orcon.tengu.io", UID: "a"}}}
}

func (d *defined) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch o, is := into.(*metav1.PartialObjectMetadata); {
	case d.failed != nil:
		return d.failed
	case !is || key.Name != "databags.orcon.tengu.io":
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	default:
		d.definition.DeepCopyInto(o)
		return nil
	}
}

// What is missing counts only while its definition provably stays (TRUST.md T1).
func TestStays(t *testing.T) {
	now := metav1.Now()
	tests := map[string]struct {
		why    string
		change func(*defined)
		err    string
		anew   bool
	}{
		"Stays":    {why: "an object was deleted", change: func(*defined) {}},
		"Deleted":  {why: "the objects go with it", change: func(d *defined) { d.definition.DeletionTimestamp = &now }, err: "is being deleted"},
		"Gone":     {why: "nothing proves that it stays", change: func(d *defined) { d.failed = apierrors.NewNotFound(schema.GroupResource{}, "x") }, err: "cannot read"},
		"Unknown":  {why: "a read that fails is no answer", change: func(d *defined) { d.failed = errors.New("no route") }, err: "no route"},
		"Replaced": {why: "the caches hold what went with the other", change: func(d *defined) { d.definition.UID = "b" }, err: "made again", anew: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := newDefined()
			d := readBy(server)
			require.NoError(t, d.stays(t.Context(), "databags"))
			test.change(server)
			for range 2 {
				err := d.stays(t.Context(), "databags")
				if test.err == "" {
					require.NoError(t, err, test.why)
				} else {
					require.ErrorContains(t, err, test.err, test.why)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			if !test.anew {
				cancel()
			}
			assert.Equal(t, test.anew, d.Start(ctx) != nil, "the controller starts anew")
			cancel()
		})
	}
}

func TestPluralOf(t *testing.T) {
	for want, o := range map[string]runtime.Object{
		"relations": &v1alpha1.Relation{}, "relationsides": &v1alpha1.RelationSide{}, "databags": &v1alpha1.Databag{},
		"relatedapplications": &v1alpha1.RelatedApplication{}, "relatednamespaces": &v1alpha1.RelatedNamespace{},
		"relatedsecrets": &v1alpha1.RelatedSecret{}, "offers": &v1alpha1.Offer{}, "interfaces": &v1alpha1.Interface{},
	} {
		assert.Equal(t, want, pluralOf(o))
	}
	deployment := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}}
	assert.Empty(t, pluralOf(deployment))
	assert.Empty(t, pluralOf(&corev1.Pod{}))
}

// An informer keeps its objects while their definition is being deleted, and shows deletions again when it stays.
func TestInformerKeepsWhatGoesWithItsDefinition(t *testing.T) {
	server := newDefined()
	d := readBy(server)
	var listed atomic.Int64
	var watched atomic.Pointer[watch.FakeWatcher]
	bag := func(name string) *v1alpha1.Databag {
		return &v1alpha1.Databag{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), ResourceVersion: "1"}}
	}
	from := &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			list := &v1alpha1.DatabagList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
			if listed.Add(1) == 1 {
				list.Items = []v1alpha1.Databag{*bag("a"), *bag("b")}
			}
			return list, nil
		},
		WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil)
			}
			w := watch.NewFake()
			watched.Store(w)
			return w, nil
		},
	}
	informer := d.newInformer(from, &v1alpha1.Databag{}, 0, toolscache.Indexers{})
	go informer.RunWithContext(t.Context())
	names := func() string { return fmt.Sprint(informer.GetStore().ListKeys()) }
	require.Eventually(t, func() bool { return informer.HasSynced() && watched.Load() != nil }, 20*time.Second, time.Millisecond)
	watched.Load().Delete(bag("a"))
	require.Eventually(t, func() bool { return names() == "[shop/b]" }, 20*time.Second, time.Millisecond, "a person deleted it")

	now := metav1.Now()
	server.mu.Lock()
	server.definition.DeletionTimestamp = &now
	server.mu.Unlock()
	was := listed.Load()
	watched.Load().Delete(bag("b"))
	require.Eventually(t, func() bool { return listed.Load() > was+1 }, 20*time.Second, time.Millisecond, "the watch begins anew with a list")
	assert.Equal(t, "[shop/b]", names(), "neither the deletion nor the empty list counts")

	server.mu.Lock()
	server.definition.DeletionTimestamp = nil
	server.mu.Unlock()
	require.Eventually(t, func() bool { return names() == "[]" }, 20*time.Second, time.Millisecond, "the definition stays: the empty list counts")
}

// Events are delivered in order, none is lost while reads succeed, and no deletion is delivered that a read has not
// proven that began after it was seen.
func TestProvenDeliversInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SampledFrom([]watch.EventType{watch.Added, watch.Modified, watch.Deleted}), 0, 40).Draw(t, "events")
		failsAt := rapid.IntRange(-1, 10).Draw(t, "the read that fails")
		from := watch.NewFakeWithChanSize(len(kinds), false)
		for i, kind := range kinds {
			from.Action(kind, &v1alpha1.Databag{ObjectMeta: metav1.ObjectMeta{Generation: int64(i)}})
		}
		reads := 0 // one at a time
		var proves atomic.Int64
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		p := &proven{from: from, stop: stop, out: make(chan watch.Event), stays: func(context.Context) error {
			seen := int64(len(kinds) - len(from.ResultChan()))
			reads++
			if reads-1 == failsAt {
				return errors.New("no answer")
			}
			proves.Store(seen)
			return nil
		}}
		go p.run(ctx)
		delivered := 0
		for delivered < len(kinds) {
			e := <-p.ResultChan()
			if e.Type == watch.Error {
				break
			}
			if e.Type != kinds[delivered] || e.Object.(*v1alpha1.Databag).Generation != int64(delivered) {
				t.Fatalf("event %d is %v", delivered, e)
			}
			if e.Type == watch.Deleted && int64(delivered) >= proves.Load() {
				t.Fatalf("deletion %d was delivered, and a read has proven %d events", delivered, proves.Load())
			}
			delivered++
		}
		p.Stop()
		for range p.ResultChan() {
		}
		failed := failsAt >= 0 && failsAt < reads
		if !failed && delivered < len(kinds) {
			t.Fatalf("%d of %d events without a failure", delivered, len(kinds))
		}
	})
}

// watched runs a watch over events. stays is what each read finds.
func watched(t *testing.T, from watch.Interface, stays func(context.Context) error) *proven {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	p := &proven{from: from, stays: stays, stop: stop, out: make(chan watch.Event)}
	t.Cleanup(p.Stop)
	go p.run(ctx)
	return p
}

// Events wait for a read that takes its time, up to a number of them; then the watch itself waits.
func TestProvenWaits(t *testing.T) {
	const all = 3 * mostUnproven
	from := watch.NewFakeWithChanSize(all, false)
	for range all {
		from.Delete(&v1alpha1.Databag{})
	}
	answer := make(chan error)
	p := watched(t, from, func(context.Context) error { return <-answer })
	require.Eventually(t, func() bool { return len(from.ResultChan()) == all-mostUnproven }, 20*time.Second, time.Millisecond)
	select {
	case e := <-p.ResultChan():
		require.Fail(t, "delivered without a read", "%v", e)
	default:
	}
	close(answer)
	for range all {
		assert.Equal(t, watch.Deleted, (<-p.ResultChan()).Type)
	}
}

// A watch that ends takes along what was not proven: it comes again with the next list.
func TestProvenEndsWithItsWatch(t *testing.T) {
	from := watch.NewFakeWithChanSize(1, false)
	asked := make(chan struct{})
	p := watched(t, from, func(ctx context.Context) error {
		close(asked)
		<-ctx.Done()
		return ctx.Err()
	})
	from.Delete(&v1alpha1.Databag{})
	<-asked
	from.Stop()
	_, open := <-p.ResultChan()
	assert.False(t, open)
}

// A list that is streamed counts as a list does: its end is proven, other bookmarks need no read.
func TestProvenInitialList(t *testing.T) {
	end := &v1alpha1.Databag{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	from := watch.NewFakeWithChanSize(3, false)
	from.Add(&v1alpha1.Databag{})
	from.Action(watch.Bookmark, &v1alpha1.Databag{})
	from.Action(watch.Bookmark, end)
	p := watched(t, from, func(context.Context) error { return errLeaving })
	assert.Equal(t, watch.Added, (<-p.ResultChan()).Type)
	assert.Equal(t, watch.Bookmark, (<-p.ResultChan()).Type)
	ended := <-p.ResultChan()
	assert.Equal(t, watch.Error, ended.Type)
	assert.True(t, apierrors.IsResourceExpired(apierrors.FromObject(ended.Object)), "so that it begins anew with a list")
}
