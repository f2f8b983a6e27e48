package bundledeployment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// shop is the deployment of all tests here.
var shop = types.NamespacedName{Namespace: "shop", Name: "shop"} //nolint:gochecknoglobals // a name

// fetched holds the contents of all tests. What is fetched may outlive the test that it is for.
var fetched string //nolint:gochecknoglobals // TestMain has no other way to hand it on

func TestMain(m *testing.M) {
	var err error
	if fetched, err = os.MkdirTemp("", "orcon-contents-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(fetched)
	os.Exit(code)
}

// world is a cluster in memory with one deployment, its record, and a clock. It behaves as the
// real one, but that its objects are as healthy as the test says.
type world struct {
	t      *testing.T
	client client.Client

	mu      sync.Mutex
	now     time.Time
	objects map[domain.ID]domain.Object
	since   map[domain.ID]time.Time
	// sick are kinds whose objects never become healthy, held are kinds that are not deleted, and contested are kinds with a
	// field of another manager.
	sick, held, contested string
	// unlabelled reports that the objects lack their label, until the next write.
	unlabelled bool
	// slow is how long a write takes, and look a look.
	slow, look time.Duration
	writes     int
	// unreadable is why the cluster cannot be looked at, and unpruned why what left the bundle cannot; nil if it can.
	unreadable, unpruned error
	// source is the content of ConfigMap content; fetch waits for fetches, if it is not nil.
	source  map[string]string
	fetches int
	fetch   chan struct{}

	record domain.Record
	plans  map[int]domain.Plan
	// unremovable is why the record cannot be removed; unpublished fails the next status of a
	// BundleRevision.
	unremovable error
	unpublished error
	// unsavable is why the record cannot be written, unloadable why it cannot be read; closed reports that the namespace does
	// not let the controller act as its accounts.
	unsavable  error
	unloadable error
	closed     bool
	// leaving is when the definition of BundleDeployments was deleted, and undefined is why it cannot be read.
	leaving   *metav1.Time
	undefined error
	// missing is why the objects that content is made of cannot be read; lacks are what workloads
	// read and nothing has.
	missing error
	lacks   []domain.Lack
	// dies reports that nothing can be read any more, as by a leader that dies; nil for never.
	dies   func() bool
	events *events.FakeRecorder
}

// newWorld returns a cluster in which deployment shop was just created from manifests.
func newWorld(t *testing.T, manifests string, change ...func(*v1alpha1.BundleDeployment)) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
	d := &v1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: shop.Name, UID: "u1", Generation: 1}}
	d.Spec.Sources = []v1alpha1.BundleSource{{Reference: "configmaps:content"}}
	for _, f := range change {
		f(d)
	}
	w := &world{
		t: t, now: time.Now().Truncate(time.Second), objects: map[domain.ID]domain.Object{}, since: map[domain.ID]time.Time{},
		source: map[string]string{"all.yaml": manifests}, plans: map[int]domain.Plan{}, events: events.NewFakeRecorder(100),
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(d, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop.Namespace}}).
		WithStatusSubresource(&v1alpha1.BundleDeployment{}, &v1alpha1.BundleRevision{})
	w.client = builder.WithInterceptorFuncs(interceptor.Funcs{SubResourceUpdate: func(
		ctx context.Context, c client.Client, name string, o client.Object, options ...client.SubResourceUpdateOption,
	) error {
		if err := w.unpublished; err != nil {
			w.unpublished = nil
			return err
		}
		return c.SubResource(name).Update(ctx, o, options...)
	}, Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
		if review, is := o.(*authorizationv1.SelfSubjectAccessReview); is {
			review.Status.Allowed = !w.closed
			return nil
		}
		return c.Create(ctx, o, options...)
	}, Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
		if definition, is := o.(*metav1.PartialObjectMetadata); is {
			definition.DeletionTimestamp = w.leaving
			return w.undefined
		}
		return c.Get(ctx, key, o, options...)
	}}).Build()
	return w
}

// leader returns a controller that has just begun.
func (w *world) leader() *Reconciler {
	work := content.Worker(render.Output)
	return &Reconciler{
		Client: w.client, Reader: w.client, Connect: func(Access) (World, Store, error) { return w, w, nil },
		Events: w.events, Identity: "c1", Account: "orcon-system:bundle-controller", Now: w.clock, Resync: 2 * time.Minute,
		Contents: &content.Isolated{Fetching: work, Rendering: work, Cache: content.Cache{Folder: fetched}}, Places: supply.Places(),
	}
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// reconcile gives the deployment one reconcile.
func (w *world) reconcile(r *Reconciler) reconcile.Result {
	w.t.Helper()
	result, err := r.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: shop})
	require.NoError(w.t, err)
	return result
}

// run reconciles, each time when that is due, until Ready has a reason.
func (w *world) run(r *Reconciler, reason string) {
	w.t.Helper()
	for range 100 {
		result := w.reconcile(r)
		if w.ready().Reason == reason {
			return
		}
		w.pass(result.RequeueAfter)
	}
	require.Fail(w.t, "Ready never has reason "+reason, "%+v", w.ready())
}

func (w *world) deployment() *v1alpha1.BundleDeployment {
	w.t.Helper()
	var d v1alpha1.BundleDeployment
	require.NoError(w.t, w.client.Get(w.t.Context(), shop, &d))
	return &d
}

// edit changes the deployment as a person does.
func (w *world) edit(change func(*v1alpha1.BundleDeployment)) {
	w.t.Helper()
	d := w.deployment()
	change(d)
	d.Generation++
	require.NoError(w.t, w.client.Update(w.t.Context(), d))
}

// ready returns condition Ready; empty before the first status.
func (w *world) ready() metav1.Condition {
	w.t.Helper()
	if c := meta.FindStatusCondition(w.deployment().Status.Conditions, "Ready"); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// names are those of the objects, in order.
func (w *world) names() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for id := range w.objects {
		all = append(all, id.Kind+"/"+id.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// Observe implements bundle.Cluster.
func (w *world) Observe(_ context.Context, look domain.Look) (domain.Seen, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := domain.Seen{Live: map[domain.ID]domain.Live{}, Refused: map[domain.ID]error{}}
	w.now = w.now.Add(w.look)
	if w.dies != nil && w.dies() {
		return seen, errors.New("the leader dies")
	}
	if w.unreadable != nil {
		return seen, w.unreadable
	}
	if look.Uses && w.unpruned != nil {
		return seen, w.unpruned
	}
	ids := slices.Clone(look.Read)
	for _, o := range look.Compare {
		ids = append(ids, o.ID())
	}
	for _, id := range ids {
		o, there := w.objects[id]
		if !there {
			continue
		}
		live := domain.Live{Object: o, Health: domain.Ready}
		if strings.Contains(w.sick, id.Kind) {
			live.Health, live.Since = domain.InProgress, w.since[id]
		}
		if look.Preflight && strings.Contains(w.contested, id.Kind) {
			live.Changes = []domain.Change{{Path: "data.size", Before: `"5"`, After: `"3"`, Manager: "autoscaler"}}
		}
		if w.unlabelled {
			live.Changes = []domain.Change{{Path: "metadata.labels." + domain.DeploymentKey, After: `"shop"`}}
		}
		seen.Live[id] = live
	}
	return seen, nil
}

// Apply implements bundle.Cluster.
func (w *world) Apply(_ context.Context, writes []domain.Write) (written []domain.ID, refused map[domain.ID]error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlabelled = false
	for _, write := range writes {
		id := write.Object.ID()
		w.now = w.now.Add(w.slow)
		w.writes++
		w.objects[id], w.since[id] = write.Object, w.now
		written = append(written, id)
	}
	return written, nil
}

// Delete implements bundle.Cluster.
func (w *world) Delete(_ context.Context, deletions []domain.Deletion) map[domain.ID]error {
	w.mu.Lock()
	defer w.mu.Unlock()
	refused := map[domain.ID]error{}
	for _, d := range deletions {
		if d.ID.Kind == w.held {
			refused[d.ID] = errors.New("a webhook refuses it")
			continue
		}
		delete(w.objects, d.ID)
	}
	return refused
}

// Text implements Inputs.
func (w *world) Text(context.Context, string, string, string) ([]byte, error) { return nil, w.missing }

// Credentials implements Inputs.
func (w *world) Credentials(context.Context, string) (domain.Credentials, error) {
	return domain.Credentials{}, w.missing
}

// Files implements Inputs.
func (w *world) Files(ctx context.Context, _ []string) (domain.Tree, error) {
	w.mu.Lock()
	w.fetches++
	wait := w.fetch
	w.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return domain.Tree{}, ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var tree domain.Tree
	for name, text := range w.source {
		if err := tree.Add(name, domain.File{Content: []byte(text)}); err != nil {
			return domain.Tree{}, err
		}
	}
	return tree, nil
}

// Lacks implements World.
func (w *world) Lacks(context.Context, domain.Plan) ([]domain.Lack, []domain.ID, error) {
	return w.lacks, nil, w.missing
}

// Namespaced implements World.
func (w *world) Namespaced(string, string) (namespaced, known bool, err error) {
	return true, true, nil
}

// Load implements bundle.Store.
func (w *world) Load(context.Context) (domain.Record, error) {
	if w.unloadable != nil {
		return domain.Record{}, w.unloadable
	}
	return w.record, nil
}

// Plan implements bundle.Store.
func (w *world) Plan(_ context.Context, revision int) (domain.Plan, error) {
	return w.plans[revision], nil
}

// Save implements bundle.Store.
func (w *world) Save(_ context.Context, r domain.Record, content *domain.Plan) error {
	if w.unsavable != nil {
		return fmt.Errorf("cannot write the record of shop/shop: %w", w.unsavable)
	}
	if w.record = r; content != nil {
		w.plans[r.Last().Number] = *content
	}
	return nil
}

// Unmoved implements bundle.Store.
func (w *world) Unmoved(context.Context) error { return nil }

// Remove implements bundle.Store.
func (w *world) Remove(context.Context) error {
	if w.unremovable != nil {
		return w.unremovable
	}
	w.record, w.plans = domain.Record{}, map[int]domain.Plan{}
	return nil
}

// Contents implements Store.
func (w *world) Contents(int) []string { return nil }

// Stage implements Store.
func (w *world) Stage(context.Context, domain.Plan) ([]string, error) { return nil, nil }

// configMaps returns manifests of ConfigMaps.
func configMaps(names ...string) string {
	var all strings.Builder
	for _, name := range names {
		all.WriteString("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n")
	}
	return all.String()
}

// web is the manifest of a Deployment.
const web = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: []}}}\n"
