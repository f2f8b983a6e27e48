package metadata

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/golang/glog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	events "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// firstPause and lastPause bound the time before a watch that has failed is tried again.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// watch is one watch. It is the store of its own reflector, and keeps digests alone: an informer
// for each kind and namespace of a thousand deployments would keep their objects in memory.
type watch struct {
	target
	set *Watches

	// These are guarded by the set's mutex. refused is when it was forbidden last; zero once it
	// works. idle reports that it has ended until it is tried again.
	owners  map[string]bool
	end     context.CancelFunc
	begun   bool
	refused time.Time
	idle    bool

	// These belong to the watch's own goroutine. listed and open report that the objects are
	// known and that changes to them arrive.
	seen         map[types.NamespacedName]mark
	listed, open bool
}

// mark identifies a version of an object, and its deployment.
type mark struct {
	owner  string
	digest [sha256.Size]byte
}

// newMark returns the mark of an object. A write of status alone leaves it as it is.
func newMark(o *metav1.PartialObjectMetadata) (mark, error) {
	text, err := json.Marshal([]any{o.UID, version(o), o.Labels, o.Annotations, o.DeletionTimestamp})
	return mark{owner: o.Annotations[bundle.OwnerKey], digest: sha256.Sum256(text)}, err
}

// version returns what a write of anything but status changes: the generation, or in kinds without
// one, such as HorizontalPodAutoscaler, who wrote which fields and when.
func version(o *metav1.PartialObjectMetadata) any {
	switch {
	case o.Generation > 0:
		return o.Generation
	case len(o.ManagedFields) == 0:
		return o.ResourceVersion
	}
	return slices.DeleteFunc(slices.Clone(o.ManagedFields), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == "status" })
}

// start begins the watch anew.
func (w *watch) start() {
	var ctx context.Context
	ctx, w.end = context.WithCancel(context.Background())
	w.idle, w.begun = false, false
	go w.run(ctx)
}

// run watches until its context ends, or until it is forbidden.
func (w *watch) run(ctx context.Context) {
	w.seen, w.listed, w.open = map[types.NamespacedName]mark{}, false, false
	client, err := w.set.connect(w.account)
	if err != nil { // the configuration is that of the controller itself
		glog.Errorf("cannot watch %s for %s: %v", w.resource.Resource, w.account, err)
		return
	}
	reflector := cache.NewReflectorWithOptions(w.source(client), &metav1.PartialObjectMetadata{}, w, cache.ReflectorOptions{Name: w.account})
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		began := time.Now()
		err := reflector.ListAndWatchWithContext(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case apierrors.IsForbidden(err):
			w.forbidden()
			return
		case err != nil:
			glog.V(1).Infof("cannot watch %s in namespace %q for %s: %v", w.resource.Resource, w.namespace, w.account, err)
		}
		if time.Since(began) > lastPause {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait.Jitter(pause, 1)): // not all watches at one time
		}
	}
}

// source returns what the reflector lists and watches: objects with the label of a deployment.
func (w *watch) source(client metadata.Interface) cache.ListerWatcher {
	objects := client.Resource(w.resource).Namespace(w.namespace)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = bundle.DeploymentKey
			return objects.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (events.Interface, error) {
			options.LabelSelector = bundle.DeploymentKey
			stream, err := objects.Watch(ctx, options)
			if err == nil {
				w.open = true
				w.begin()
			}
			return stream, err
		},
	}, client)
}

// begin reports that the watch works, once it does: what happened since the deployments were
// looked at would go unnoticed otherwise.
func (w *watch) begin() {
	if !w.listed || !w.open {
		return
	}
	w.set.mu.Lock()
	begun, owners := w.begun, slices.Collect(maps.Keys(w.owners))
	w.begun, w.refused = true, time.Time{}
	w.set.mu.Unlock()
	if !begun {
		w.set.report(w, owners...)
	}
}

// forbidden notes that the account may not watch, and reports that if it was not known.
func (w *watch) forbidden() {
	w.set.mu.Lock()
	known, owners := !w.refused.IsZero(), slices.Collect(maps.Keys(w.owners))
	w.refused, w.idle = w.set.now(), true
	w.set.mu.Unlock()
	if !known {
		w.set.report(w, owners...)
	}
}

// Replace implements cache.ReflectorStore. What was missed meanwhile is reported.
func (w *watch) Replace(objects []any, _ string) error {
	gone := maps.Clone(w.seen)
	for _, o := range objects {
		if err := w.Update(o); err != nil {
			return err
		}
		delete(gone, named(o))
	}
	for name, old := range gone {
		delete(w.seen, name)
		w.set.report(w, old.owner)
	}
	w.listed = true
	w.begin()
	return nil
}

// Add implements cache.ReflectorStore.
func (w *watch) Add(o any) error { return w.Update(o) }

// Update implements cache.ReflectorStore. New objects are not reported.
func (w *watch) Update(o any) error {
	object, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return fmt.Errorf("cannot read metadata of %T", o)
	}
	now, err := newMark(object)
	if err != nil {
		return err
	}
	old, known := w.seen[named(o)]
	w.seen[named(o)] = now
	if known && old != now {
		w.set.report(w, old.owner, now.owner)
	}
	return nil
}

// Delete implements cache.ReflectorStore. An object that has lost its label is gone too.
func (w *watch) Delete(o any) error {
	name := named(o)
	old := w.seen[name]
	delete(w.seen, name)
	w.set.report(w, old.owner)
	return nil
}

// Resync implements cache.ReflectorStore; nothing is due.
func (w *watch) Resync() error { return nil }

// named returns the name of an object.
func named(o any) types.NamespacedName {
	object, ok := o.(metav1.Object)
	if !ok {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}
