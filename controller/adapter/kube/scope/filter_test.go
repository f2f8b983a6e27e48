package scope

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// followed is an informer that has synced, as a scope follows it.
type followed struct {
	toolscache.ResourceEventHandlerRegistration
}

func (followed) HasSynced() bool { return true }

// bench is an informer of pods within a scope.
type bench struct {
	server   *pods
	scope    *Scope
	filter   *filter
	informer toolscache.SharedIndexInformer
	// seen has the latest revisions of pods that were seen in the store.
	seen map[string]int
}

func newBench(server *pods) *bench {
	b := &bench{server: server, scope: newScope(nil), seen: map[string]int{}}
	b.scope.sources = []toolscache.ResourceEventHandlerRegistration{followed{}}
	close(b.scope.followed)
	b.filter = b.scope.bound(&toolscache.ListWatch{ListWithContextFunc: server.list, WatchFuncWithContext: server.watch}, &corev1.Pod{})
	b.filter.within = server.within
	b.informer = toolscache.NewSharedIndexInformer(
		&toolscache.ListWatch{ListWithContextFunc: b.filter.list, WatchFuncWithContext: b.slowly}, &corev1.Pod{}, 0,
		toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	b.filter.register(b.informer.GetIndexer(), b.informer.HasSynced)
	return b
}

// slowly watches by the filter, with time between its events.
func (b *bench) slowly(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	from, err := b.filter.watch(ctx, o)
	if err != nil {
		return nil, err
	}
	w := &podWatch{from.Stop, make(chan watch.Event)}
	go func() {
		defer close(w.out)
		for e := range from.ResultChan() {
			b.server.mu.Lock()
			lag := min(b.server.lag/4, 10*time.Millisecond)
			b.server.mu.Unlock()
			linger(ctx, lag)
			select {
			case w.out <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return w, nil
}

// opt opts a namespace in or out.
func (b *bench) opt(namespace string, in bool) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if in {
		ns.Labels = map[string]string{application.LabelOptIn: application.OptedIn}
	}
	b.scope.see(ns, 0)
}

// held returns what the store has of a namespace, as key and resourceVersion.
func (b *bench) held(namespace string) map[string]string {
	all := map[string]string{}
	objects, _ := b.informer.GetIndexer().ByIndex(toolscache.NamespaceIndex, namespace)
	for _, o := range objects {
		p := o.(*corev1.Pod) //nolint:forcetypeassert // nothing else is put there
		all[p.Namespace+"/"+p.Name] = p.ResourceVersion
	}
	return all
}

// lacks returns what is missing, or older than it was, of a namespace that the filter says is complete. One pod of each
// is never deleted.
func (b *bench) lacks() string {
	for _, namespace := range namespaces() {
		before, has := b.filter.has(namespace)
		held := b.held(namespace)
		after, still := b.filter.has(namespace)
		if !has || !still || before != after {
			continue
		}
		stays := namespace + "/stays"
		if held[stays] == "" {
			return fmt.Sprintf("%s is missing, although the namespace is complete: %v", stays, held)
		}
		at, _ := strconv.Atoi(held[stays])
		if at < b.seen[stays] {
			return fmt.Sprintf("%s goes back in time from %d to %d", stays, b.seen[stays], at)
		}
		b.seen[stays] = at
	}
	return ""
}

func namespaces() []string { return []string{"a", "b", "c"} }

// step is a change of the world.
type step struct {
	do        string
	namespace string
	pod       string
	injected  bool
	// pause is the time until the next step, in milliseconds, and slow and lag how long the API server takes from now on.
	pause, slow, lag int
}

func (s step) carryOut(ctx context.Context, b *bench) {
	switch s.do {
	case "write":
		b.server.write(watch.Added, s.namespace+"/"+s.pod, s.injected)
	case "delete":
		if s.pod == "stays" {
			break
		}
		b.server.write(watch.Deleted, s.namespace+"/"+s.pod, false)
	case "join":
		b.opt(s.namespace, true)
	case "leave":
		b.opt(s.namespace, false)
	case "break", "gone", "expire":
		b.server.cut(s.do)
	}
	b.server.mu.Lock()
	b.server.slow, b.server.lag = time.Duration(s.slow)*time.Millisecond, time.Duration(s.lag)*time.Millisecond
	if s.do == "fail" {
		b.server.failing++
	}
	b.server.mu.Unlock()
	linger(ctx, time.Duration(s.pause)*time.Millisecond)
}

func steps() *rapid.Generator[[]step] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			do: rapid.SampledFrom([]string{
				"write", "write", "write", "write", "write", "write", "delete", "delete", "join", "join", "join", "join",
				"leave", "leave", "break", "gone", "expire", "fail",
			}).Draw(t, "do"),
			namespace: rapid.SampledFrom(namespaces()).Draw(t, "namespace"),
			pod:       rapid.SampledFrom([]string{"x", "stays", "stays"}).Draw(t, "pod"),
			injected:  rapid.IntRange(0, 4).Draw(t, "injected") == 0,
			pause:     rapid.SampledFrom([]int{0, 0, 1, 5, 15, 50, 1500}).Draw(t, "pause"),
			slow:      rapid.SampledFrom([]int{0, 3, 20}).Draw(t, "slow"),
			lag:       rapid.SampledFrom([]int{0, 4, 40}).Draw(t, "lag"),
		}
	}), 20, 80)
}

// live runs the steps, and returns what is wrong.
func live(t *testing.T, all []step, streams bool) (wrong string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(newPods())
		b.server.streams = streams
		for _, namespace := range namespaces() {
			b.server.write(watch.Added, namespace+"/stays", false)
		}
		ctx, stop := context.WithCancel(t.Context())
		looking, look := context.WithCancel(ctx)
		var missing string
		var running sync.WaitGroup
		running.Go(func() { b.informer.RunWithContext(ctx) })
		running.Go(func() {
			for looking.Err() == nil {
				missing = cmp.Or(missing, b.lacks())
				linger(looking, time.Millisecond)
			}
		})
		for _, s := range append(all, step{pause: 3000}) {
			s.carryOut(ctx, b)
		}
		look()
		step{pause: 120_000}.carryOut(ctx, b)
		wrong = b.differs()
		stop()
		running.Wait()
		wrong = cmp.Or(missing, wrong)
	})
	return wrong
}

// differs returns a difference between the store and the pods of participating namespaces.
func (b *bench) differs() string {
	for _, namespace := range namespaces() {
		want := map[string]string{}
		participates := b.scope.optedIn[namespace]
		list := b.server.in(namespace)
		for i := range list.Items {
			p := &list.Items[i]
			want[p.Namespace+"/"+p.Name] = p.ResourceVersion
			participates = participates || object.Injected(p)
		}
		if !participates {
			want = map[string]string{}
		}
		if held := b.held(namespace); !maps.Equal(want, held) {
			return fmt.Sprintf("namespace %s: want %v, have %v", namespace, want, held)
		}
		if _, has := b.filter.has(namespace); has != participates {
			return fmt.Sprintf("namespace %s: participates %t, is complete %t", namespace, participates, has)
		}
	}
	return ""
}

// The store has what participating namespaces hold, and nothing else, after any order of changes, joins, leaves, and
// watches and lists that fail. Meanwhile nothing is missing of a namespace that is said to be complete (TRUST.md U7).
func TestFilter(t *testing.T) {
	for name, streams := range map[string]bool{"Lists": false, "Streams": true} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				all := steps().Draw(rt, "steps")
				assert.Empty(rt, live(t, all, streams))
			})
		})
	}
}
