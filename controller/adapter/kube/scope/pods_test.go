package scope

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// pods is an API server with pods. Its answers take time.
type pods struct {
	mu       sync.Mutex
	revision int
	stored   map[string]*corev1.Pod
	// log has the event of each revision after compacted, and base what was stored then.
	log       []watch.Event
	compacted int
	base      map[string]*corev1.Pod
	// moved is closed when an event has come, and broken when all watches end.
	moved, broken chan struct{}
	// slow is how long a page or a list of a namespace takes, lag how long an event, and failing how many lists of a
	// namespace fail.
	slow, lag time.Duration
	failing   int
	// streams is set if it serves lists by events, and gone if watches end with an error.
	streams, gone bool
	// watches are the resourceVersions from which watches went on.
	watches []string
}

func newPods() *pods {
	return &pods{
		revision: 95, compacted: 95, // numbers get longer: 99 is before 100
		stored: map[string]*corev1.Pod{}, base: map[string]*corev1.Pod{}, moved: make(chan struct{}), broken: make(chan struct{}),
	}
}

// write creates, changes or deletes a pod.
func (p *pods) write(kind watch.EventType, key string, injected bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.stored[key]
	if was == nil && kind == watch.Deleted {
		return
	}
	if was != nil && kind == watch.Added {
		kind = watch.Modified
	}
	p.revision++
	namespace, name, _ := strings.Cut(key, "/")
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: strconv.Itoa(p.revision)}}
	if injected {
		o.Spec.InitContainers = []corev1.Container{{Name: injection.AgentContainer}}
	}
	if p.stored[key] = o; kind == watch.Deleted {
		delete(p.stored, key)
	}
	p.log = append(p.log, watch.Event{Type: kind, Object: o})
	close(p.moved)
	p.moved = make(chan struct{})
}

// cut ends all watches. One that is gone ends with an error, and lists may be as old as it was. After an expiry they are
// not.
func (p *pods) cut(how string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = how == "gone"
	close(p.broken)
	p.broken = make(chan struct{})
	if how == "expire" {
		p.log, p.compacted, p.base = nil, p.revision, maps.Clone(p.stored)
	}
}

// in returns the pods of a namespace, or all.
func (p *pods) in(namespace string) corev1.PodList {
	p.mu.Lock()
	defer p.mu.Unlock()
	return listOf(p.stored, namespace, p.revision)
}

func listOf(stored map[string]*corev1.Pod, namespace string, revision int) (list corev1.PodList) {
	list.ResourceVersion = strconv.Itoa(revision)
	for _, key := range slices.Sorted(maps.Keys(stored)) {
		if namespace == "" || strings.HasPrefix(key, namespace+"/") {
			list.Items = append(list.Items, *stored[key].DeepCopy())
		}
	}
	return list
}

// notOlder returns all pods as they were at a revision, as a server does that lags behind.
func (p *pods) notOlder(version string) (corev1.PodList, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	revision, err := strconv.Atoi(version)
	switch {
	case err != nil || version == "0":
		return listOf(p.stored, "", p.revision), nil
	case revision < p.compacted:
		return corev1.PodList{}, apierrors.NewResourceExpired("too old")
	}
	stored := maps.Clone(p.base)
	for _, e := range p.log[:revision-p.compacted] {
		o := e.Object.(*corev1.Pod) //nolint:forcetypeassert // nothing else is put there
		if stored[o.Namespace+"/"+o.Name] = o; e.Type == watch.Deleted {
			delete(stored, o.Namespace+"/"+o.Name)
		}
	}
	return listOf(stored, "", revision), nil
}

// list lists two pods at a time, all at one revision.
func (p *pods) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	p.mu.Lock()
	slow := p.slow
	p.mu.Unlock()
	linger(ctx, slow)
	if o.Limit == 0 || o.ResourceVersion != "" {
		return nil, errors.New("a list that is not paged")
	}
	all := p.in("")
	if o.Continue != "" {
		at, from, _ := strings.Cut(o.Continue, "-")
		if at != all.ResourceVersion {
			return nil, apierrors.NewResourceExpired("it has changed")
		}
		first, _ := strconv.Atoi(from)
		all.Items = all.Items[first:]
	}
	if len(all.Items) > 2 {
		_, from, _ := strings.Cut(o.Continue, "-")
		first, _ := strconv.Atoi(from)
		all.Items, all.Continue = all.Items[:2], fmt.Sprintf("%s-%d", all.ResourceVersion, first+2)
	}
	return &all, nil
}

// within lists a namespace. The list is old when it arrives.
func (p *pods) within(ctx context.Context, namespace string) ([]runtime.Object, string, error) {
	p.mu.Lock()
	slow, fails := p.slow, p.failing > 0
	if fails {
		p.failing--
	}
	p.mu.Unlock()
	linger(ctx, slow)
	list := p.in(namespace)
	linger(ctx, slow)
	if fails {
		return nil, "", errors.New("no route")
	}
	var all []runtime.Object
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all, list.ResourceVersion, nil
}

// linger waits for a time of the bubble, in which time passes when all wait.
func linger(ctx context.Context, d time.Duration) {
	if d == 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (p *pods) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	var first []watch.Event
	if o.SendInitialEvents != nil && !p.streams {
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "", nil)
	}
	if o.SendInitialEvents != nil {
		all, err := p.notOlder(o.ResourceVersion)
		if err != nil {
			return nil, err
		}
		for i := range all.Items {
			first = append(first, watch.Event{Type: watch.Added, Object: &all.Items[i]})
		}
		end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: all.ResourceVersion, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}}
		first = append(first, watch.Event{Type: watch.Bookmark, Object: end})
		o.ResourceVersion = all.ResourceVersion
	}
	from, err := strconv.Atoi(o.ResourceVersion)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if from < p.compacted {
		return nil, apierrors.NewResourceExpired("too old")
	}
	ctx, stop := context.WithCancel(ctx)
	p.watches = append(p.watches, o.ResourceVersion)
	w := &podWatch{stop, make(chan watch.Event)}
	go w.run(ctx, p, p.broken, first, from)
	return w, nil
}

// podWatch is a watch of pods.
type podWatch struct {
	stop func()
	out  chan watch.Event
}

func (w *podWatch) Stop()                          { w.stop() }
func (w *podWatch) ResultChan() <-chan watch.Event { return w.out }

func (w *podWatch) run(ctx context.Context, p *pods, broken chan struct{}, next []watch.Event, at int) {
	defer close(w.out)
	for {
		for _, e := range next {
			select {
			case w.out <- watch.Event{Type: e.Type, Object: e.Object.DeepCopyObject()}:
			case <-broken:
				return
			case <-ctx.Done():
				return
			}
		}
		p.mu.Lock()
		moved, late := p.moved, make(<-chan time.Time)
		next = nil
		if at < p.compacted {
			p.mu.Unlock()
			return
		}
		if n := at - p.compacted; n < len(p.log) {
			next, moved, late, at = p.log[n:n+1], nil, time.After(p.lag), at+1
		}
		p.mu.Unlock()
		select {
		case <-late:
		case <-moved:
		case <-broken:
			w.end(ctx, p)
			return
		case <-ctx.Done():
			return
		}
	}
}

// end ends a watch that is gone with an error.
func (w *podWatch) end(ctx context.Context, p *pods) {
	p.mu.Lock()
	gone := p.gone
	p.mu.Unlock()
	if gone {
		status := apierrors.NewResourceExpired("gone").Status()
		select {
		case w.out <- watch.Event{Type: watch.Error, Object: &status}:
		case <-ctx.Done():
		}
	}
}
