package certificate

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// watch follows the objects of one kind that have one name: in one namespace,
// or in all. It asks the API server by name, so that a role with resourceNames
// is enough, and so that no other Secret is ever read (SAFETY.md S2).
type watch struct {
	name     string
	factory  informers.SharedInformerFactory
	informer cache.SharedIndexInformer
}

// newWatch returns a watch that has not begun. The function picks the kind.
// An empty namespace stands for all.
func newWatch(
	client kubernetes.Interface, namespace, name string,
	kind func(informers.SharedInformerFactory) cache.SharedIndexInformer,
) *watch {
	byName := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithNamespace(namespace),
		informers.WithTransform(withoutManagedFields),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = byName }),
	)
	return &watch{name: name, factory: factory, informer: kind(factory)}
}

func secretKind(f informers.SharedInformerFactory) cache.SharedIndexInformer {
	return f.Core().V1().Secrets().Informer()
}

func configMapKind(f informers.SharedInformerFactory) cache.SharedIndexInformer {
	return f.Core().V1().ConfigMaps().Informer()
}

func webhookKind(f informers.SharedInformerFactory) cache.SharedIndexInformer {
	return f.Admissionregistration().V1().MutatingWebhookConfigurations().Informer()
}

// withoutManagedFields drops managedFields: they are not read here and are often the larger part of an object.
func withoutManagedFields(obj any) (any, error) {
	if accessor, err := meta.Accessor(obj); err == nil {
		accessor.SetManagedFields(nil)
	}
	return obj, nil
}

// notify registers f, which must not block, for each change from now on.
func (w *watch) notify(f func()) error {
	_, err := w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { f() },
		UpdateFunc: func(any, any) { f() },
		DeleteFunc: func(any) { f() },
	})
	if err != nil {
		return fmt.Errorf("cannot follow %s: %w", w.name, err)
	}
	return nil
}

// start begins, and returns once the first answer is there or ctx has ended.
func (w *watch) start(ctx context.Context) error {
	w.factory.StartWithContext(ctx)
	if err := w.factory.WaitForCacheSyncWithContext(ctx).Err; err != nil {
		return fmt.Errorf("cannot read %s: %w", w.name, err)
	}
	return nil
}

// follow calls functions, which must not block, for each change until ctx ends.
func (w *watch) follow(ctx context.Context, changed ...func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer w.stop()
	defer cancel()
	for _, f := range changed {
		if err := w.notify(f); err != nil {
			return err
		}
	}
	if err := w.start(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	<-ctx.Done()
	return nil
}

// stop waits until all has ended that start began. Its ctx has to be over.
func (w *watch) stop() { w.factory.Shutdown() }

// all returns the objects by namespace, as they were last seen.
func all[T metav1.Object](w *watch) map[string]T {
	out := map[string]T{}
	for _, obj := range w.informer.GetStore().List() {
		// The name is checked again: not every client honours a selector.
		if o, ok := obj.(T); ok && o.GetName() == w.name {
			out[o.GetNamespace()] = o
		}
	}
	return out
}

// synced says whether the first answer is there.
func (w *watch) synced() bool { return w.informer.HasSynced() }
