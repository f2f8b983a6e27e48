package scope

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
)

// crowd is how many pods a cluster has that have nothing to do with Orcon.
const crowd = 20_000

// crowded lists many pods of many namespaces, in pages.
func crowded(_ context.Context, o metav1.ListOptions) (kruntime.Object, error) {
	first, last := 0, crowd
	if o.Limit > 0 {
		_, _ = fmt.Sscan(o.Continue, &first)
		last = min(first+int(o.Limit), crowd)
	}
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	if last < crowd {
		list.Continue = fmt.Sprint(last)
	}
	for i := first; i < last; i++ {
		controls := true
		list.Items = append(list.Items, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: fmt.Sprintf("team-%d", i%200), Name: fmt.Sprintf("web-%d-6d4cf56db6-x2x9p", i), UID: "d1b4a4a2-5b5e-4ab0-8f7b-1f8f8b6f1c1e",
				ResourceVersion: "7", Labels: map[string]string{"app": fmt.Sprint("web-", i), "pod-template-hash": fmt.Sprint("6d4cf56db6", i)},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprint("web-", i), Controller: &controls}},
			},
			Spec: corev1.PodSpec{NodeName: fmt.Sprint("node-", i%100), ServiceAccountName: "default"},
		})
	}
	return list, nil
}

// heap returns the growth of the heap by an informer of pods.
func heap(b *testing.B, made func(toolscache.ListerWatcher) toolscache.SharedIndexInformer) float64 {
	b.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	informer := made(&toolscache.ListWatch{
		ListWithContextFunc: crowded,
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return nil, fmt.Errorf("watches are not served")
		},
	})
	require.NoError(b, informer.SetTransform(func(o any) (any, error) {
		for kind, by := range object.CacheOptions().ByObject {
			if _, pods := kind.(*corev1.Pod); pods {
				return by.Transform(o)
			}
		}
		return o, nil
	}))
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() { informer.RunWithContext(ctx); close(ended) }()
	require.True(b, toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced))
	stop()
	<-ended
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(informer)
	return float64(after.HeapAlloc) - float64(before.HeapAlloc)
}

// BenchmarkHeap measures the memory for 20,000 pods, all kept and within a scope that none is in (TRUST.md U7).
func BenchmarkHeap(b *testing.B) {
	for b.Loop() {
		all := heap(b, func(from toolscache.ListerWatcher) toolscache.SharedIndexInformer {
			return toolscache.NewSharedIndexInformer(from, &corev1.Pod{}, 0, toolscache.Indexers{})
		})
		within := heap(b, func(from toolscache.ListerWatcher) toolscache.SharedIndexInformer {
			s := newScope(nil)
			close(s.followed)
			return s.bound(from, &corev1.Pod{}).informer(0, toolscache.Indexers{})
		})
		b.ReportMetric(all/(1<<20), "all-MiB")
		b.ReportMetric(within/(1<<20), "within-MiB")
		b.ReportMetric(all/max(within, 1), "ratio")
	}
}
