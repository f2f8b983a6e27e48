package metadata

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	events "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// retry is how long a forbidden watch is left alone here.
const retry = 2 * time.Minute

// world is an API server in memory with the watches of deployments, in a bubble of synctest.
type world struct {
	t       *testing.T
	client  *fake.FakeMetadataClient
	watches *Watches
	stop    context.CancelFunc

	mu sync.Mutex
	// reported are the deployments that were reported, in order.
	reported []string
	// refuse is why a verb fails for a resource; asked counts the requests for each.
	refuse map[string]error
	asked  map[string]int
	// accounts are those that connected, streams the watches that were opened.
	accounts []string
	streams  []events.Interface
}

// inWorld runs a test in a bubble.
func inWorld(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { //nolint:thelper // it is the test
		w := newWorld(t)
		test(t, w)
		w.stop()
		synctest.Wait()
	})
}

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := fake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	w := &world{t: t, client: fake.NewSimpleMetadataClient(scheme), refuse: map[string]error{}, asked: map[string]int{}}
	w.client.PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		err := w.ask(a)
		return err != nil, nil, err
	})
	w.client.PrependWatchReactor("*", func(a clienttesting.Action) (bool, events.Interface, error) {
		if err := w.ask(a); err != nil {
			return true, nil, err
		}
		stream, err := w.client.Tracker().Watch(a.GetResource(), a.GetNamespace())
		w.mu.Lock()
		defer w.mu.Unlock()
		w.streams = append(w.streams, stream)
		return true, stream, err
	})
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Version: "v1"}, {Group: "apps", Version: "v1"}})
	for kind, scope := range map[schema.GroupVersionKind]meta.RESTScope{
		{Version: "v1", Kind: "ConfigMap"}:                 meta.RESTScopeNamespace,
		{Version: "v1", Kind: "Secret"}:                    meta.RESTScopeNamespace,
		{Version: "v1", Kind: "Namespace"}:                 meta.RESTScopeRoot,
		{Group: "apps", Version: "v1", Kind: "Deployment"}: meta.RESTScopeNamespace,
	} {
		mapper.Add(kind, scope)
	}
	w.watches = New(nil, mapper, retry, w.report)
	w.watches.connect = func(account string) (metadata.Interface, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.accounts = append(w.accounts, account)
		return w.client, nil
	}
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	go func() { _ = w.watches.Start(ctx) }()
	return w
}

// ask counts a request, and returns why it fails.
func (w *world) ask(a clienttesting.Action) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	request := a.GetVerb() + " " + a.GetResource().Resource
	w.asked[request]++
	return w.refuse[request]
}

// forbid has a request fail from now on; nil allows it again.
func (w *world) forbid(request string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse[request] = err
}

// expire ends all watches, as the API server does from time to time.
func (w *world) expire() {
	w.pass(retry) // what ends at once is an error
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, stream := range w.streams {
		stream.Stop()
	}
}

func (w *world) report(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reported = append(w.reported, owner)
}

// news returns the deployments that were reported since the last call, once nothing happens.
func (w *world) news() []string {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.reported
	w.reported = nil
	return all
}

// count returns how many requests there were of a kind.
func (w *world) count(request string) int {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[request]
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// forbidden is the API server's answer to an account that may not do something.
func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no RBAC policy matched"))
}

// object is the metadata of an object "Kind name" of deployment shop/store.
func object(named string, change ...func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.Kind, o.Name, _ = strings.Cut(named, " ")
	o.APIVersion, o.Namespace, o.UID, o.ResourceVersion = "v1", "shop", "u1", "1"
	if o.Kind == "Deployment" {
		o.APIVersion, o.Generation = "apps/v1", 1
	}
	o.Labels = map[string]string{bundle.DeploymentKey: "store"}
	o.Annotations = map[string]string{bundle.OwnerKey: "shop/store"}
	for _, f := range change {
		f(o)
	}
	return o
}

// resource returns how the API server calls the objects of a kind.
func resource(o *metav1.PartialObjectMetadata) schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	return plural
}

// put creates or updates an object.
func (w *world) put(o *metav1.PartialObjectMetadata) {
	w.t.Helper()
	if err := w.client.Tracker().Create(resource(o), o, o.Namespace); !apierrors.IsAlreadyExists(err) {
		require.NoError(w.t, err)
		return
	}
	require.NoError(w.t, w.client.Tracker().Update(resource(o), o, o.Namespace))
}

// remove deletes an object.
func (w *world) remove(o *metav1.PartialObjectMetadata) {
	w.t.Helper()
	require.NoError(w.t, w.client.Tracker().Delete(resource(o), o.Namespace, o.Name))
}

// ids are the names of objects "Kind name".
func ids(named ...string) []bundle.ID {
	var all []bundle.ID
	for _, one := range named {
		o := object(one)
		all = append(all, bundle.ID{Group: o.GroupVersionKind().Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name})
	}
	return all
}
