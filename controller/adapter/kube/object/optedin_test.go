package object

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

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

// Namespaces that have opted in are known by their label, until they are being deleted or gone; a change is reported
// once, and nothing is known before all is.
func TestOptedIn(t *testing.T) {
	events := &informer{}
	o, err := NewOptedIn(events)
	require.NoError(t, err)
	changes := 0
	o.Notify(func() { changes++ })
	_, err = o.Names()
	require.ErrorIs(t, err, ErrNotSynced)
	events.synced = true

	namespace := func(name, label string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{application.LabelOptIn: label}}}
	}
	ending := namespace("shop", application.OptedIn)
	ending.DeletionTimestamp = &metav1.Time{}
	steps := []struct {
		why     string
		step    func()
		want    []string
		changed bool
	}{
		{"another value", func() { events.handler.OnAdd(namespace("shop", "disabled"), true) }, nil, false},
		{"it opts in", func() { events.handler.OnUpdate(nil, namespace("shop", application.OptedIn)) }, []string{"shop"}, true},
		{"nothing new", func() { events.handler.OnUpdate(nil, namespace("shop", application.OptedIn)) }, []string{"shop"}, false},
		{"another", func() { events.handler.OnAdd(namespace("blog", application.OptedIn), false) }, []string{"blog", "shop"}, true},
		{"it is being deleted", func() { events.handler.OnUpdate(nil, ending) }, []string{"blog"}, true},
		{"it is gone", func() { events.handler.OnDelete(ending) }, []string{"blog"}, false},
		{"unseen", func() {
			events.handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "blog", Obj: namespace("blog", application.OptedIn)})
		}, nil, true},
		{"no object", func() { events.handler.OnAdd("?", false) }, nil, false},
	}
	for _, s := range steps {
		before := changes
		s.step()
		names, err := o.Names()
		require.NoError(t, err)
		assert.ElementsMatch(t, s.want, names, s.why)
		assert.Equal(t, s.changed, changes > before, s.why)
	}
}

// An informer that has ended is an error, and a namespace that never opted in changes nothing for anyone who follows.
func TestOptedInFollows(t *testing.T) {
	ended := errors.New("the informer has ended")
	_, err := NewOptedIn(&informer{ended: ended})
	require.ErrorIs(t, err, ended)

	events := &informer{synced: true}
	o, err := NewOptedIn(events)
	require.NoError(t, err)
	var calls []string
	o.Notify(func() { calls = append(calls, "first") })
	o.Notify(func() { calls = append(calls, "second") })
	plain := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "plain"}}
	events.handler.OnAdd(plain, true)
	events.handler.OnDelete(plain)
	assert.Empty(t, calls)
	shop := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "shop", Labels: map[string]string{application.LabelOptIn: application.OptedIn},
	}}
	events.handler.OnAdd(shop, false)
	assert.Equal(t, []string{"first", "second"}, calls, "metadata alone is enough")

	withdrawn := shop.DeepCopy()
	delete(withdrawn.Labels, application.LabelOptIn)
	events.handler.OnUpdate(shop, withdrawn)
	assert.Equal(t, []string{"first", "second", "first", "second"}, calls)
	names, err := o.Names()
	require.NoError(t, err)
	assert.Empty(t, names, "it has opted out")
}
