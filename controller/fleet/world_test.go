package fleet

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// world is a cluster in memory with one IntegrationSet, fleet/prod, whose data are files.
type world struct {
	t      *testing.T
	client client.WithWatch
	set    *v1alpha1.IntegrationSet
	files  map[string]string
	// writes counts the writes that are left before the process dies; negative for no limit.
	writes int
	now    time.Time
	// broken is the error of a fetch; nil for none.
	broken error
	// running are the images of workloads that have the controller's name, and hidden is the error of a look at them.
	running map[string]string
	hidden  error
}

var errDead = errors.New("this process is dead")

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(clientscheme.AddToScheme(scheme), bundlev1alpha1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
	w := &world{t: t, writes: -1, now: time.Unix(1_000_000, 0), files: map[string]string{
		"ns.yml": "$schema: /openshift/lean-namespace-1.yml\nname: tools\ncluster: {name: one}\nenvironment: {name: prod}\n",
	}}
	w.set = &v1alpha1.IntegrationSet{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "prod"}}
	w.set.Spec.Environments = []string{"prod"}
	w.set.Spec.Data.Sources = []bundlev1alpha1.BundleSource{{Reference: "configmaps:data"}}
	w.set.Spec.Chart.Sources = []bundlev1alpha1.BundleSource{{Reference: "configmaps:chart"}}
	w.client = fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(w.set, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}}).
		WithStatusSubresource(&v1alpha1.IntegrationSet{}, &bundlev1alpha1.BundleDeployment{}).Build()
	return w
}

// runs writes the file of an integration with shards in the namespace; 0 removes it.
func (w *world) runs(integration, shards string) {
	delete(w.files, integration+".yml")
	if shards != "0" {
		w.files[integration+".yml"] = "$schema: /app-sre/integration-1.yml\nname: " + integration + "\nmanaged:\n" +
			"- namespace: {$ref: /ns.yml}\n  spec: {resources: {limits: {memory: 1Mi}}}\n  sharding: {strategy: static, shards: " + shards + "}\n"
	}
}

// Credentials implements Inputs.
func (w *world) Credentials(context.Context, string) (bundle.Credentials, error) {
	return bundle.Credentials{}, nil
}

// Files implements Inputs.
func (w *world) Files(context.Context, []string) (tree bundle.Tree, err error) {
	for name, text := range w.files {
		err = errors.Join(err, tree.Add(name, bundle.File{Content: []byte(text)}))
	}
	return tree, errors.Join(err, w.broken)
}

// named returns what runs under the controller's name.
func (w *world) named(_ context.Context, account, namespace, variable, value string) (map[string]string, error) {
	assert.Equal(w.t, "system:serviceaccount:fleet:default", account)
	if namespace != "tools" || variable != "INTEGRATION_NAME" || value != "manager" {
		return nil, nil
	}
	return w.running, w.hidden
}

// manager is a controller that the data deploy as integration manager in namespace tools.
func (w *world) manager() *Reconciler {
	r := w.process()
	r.Running, r.Self = w.named, integrationset.Self{Integration: "manager", Namespace: "tools", Images: []string{"orcon:1"}}
	return r
}

// process is a controller that has just started.
func (w *world) process() *Reconciler {
	write := func(do func() error) error {
		if w.writes == 0 {
			return errDead
		}
		w.writes--
		return do()
	}
	mortal := interceptor.NewClient(w.client, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			return write(func() error { return c.Create(ctx, o, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			return write(func() error { return c.Patch(ctx, o, p, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			return write(func() error { return c.Delete(ctx, o, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
			return write(func() error { return c.SubResource(sub).Patch(ctx, o, p, options...) })
		},
	})
	return &Reconciler{
		Client: mortal, Reader: mortal, Events: events.NewFakeRecorder(1000), Places: supply.Places(), Resync: time.Minute,
		Contents: &content.Isolated{Cache: content.Cache{Folder: w.t.TempDir()}},
		Connect:  func(string, string) (Inputs, error) { return w, nil }, Now: func() time.Time { return w.now },
	}
}

// round reconciles the set once, after the time of a resync.
func (w *world) round(r *Reconciler) error {
	w.now = w.now.Add(time.Minute)
	_, err := r.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.set)})
	return err
}

// read reads the set.
func (w *world) read() *v1alpha1.IntegrationSet {
	w.t.Helper()
	require.NoError(w.t, w.client.Get(w.t.Context(), client.ObjectKeyFromObject(w.set), w.set))
	return w.set
}

// why returns the reason of the set's condition Ready.
func (w *world) why() string {
	w.t.Helper()
	ready := meta.FindStatusCondition(w.read().Status.Conditions, "Ready")
	require.NotNil(w.t, ready)
	return ready.Reason
}

// members returns the members by integration.
func (w *world) members() map[string]bundlev1alpha1.BundleDeployment {
	w.t.Helper()
	var list bundlev1alpha1.BundleDeploymentList
	require.NoError(w.t, w.client.List(w.t.Context(), &list))
	all := map[string]bundlev1alpha1.BundleDeployment{}
	for _, d := range list.Items {
		all[d.Annotations[v1alpha1.IntegrationKey]] = d
	}
	return all
}

// report has every member report a condition.
func (w *world) report(kind, message string) {
	w.t.Helper()
	for _, d := range w.members() {
		d.Status.Conditions = []metav1.Condition{{Type: kind, Status: metav1.ConditionTrue, Reason: kind, Message: message, ObservedGeneration: d.Generation}}
		require.NoError(w.t, w.client.Status().Update(w.t.Context(), &d))
	}
}

// settle reconciles until the members are ready.
func (w *world) settle(r *Reconciler) {
	w.t.Helper()
	for range 10 {
		require.NoError(w.t, w.round(r))
		w.report("Ready", "")
	}
	require.NoError(w.t, w.round(r))
}

// another makes a second set of the same data and chart that selects an integration, and turns to it.
func (w *world) another(name, integration string) *v1alpha1.IntegrationSet {
	w.t.Helper()
	spec := *w.read().Spec.DeepCopy()
	spec.Integrations = []string{integration}
	w.set = &v1alpha1.IntegrationSet{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: name}, Spec: spec}
	require.NoError(w.t, w.client.Create(w.t.Context(), w.set))
	return w.set
}

// leave deletes a set, and has it end.
func (w *world) leave(set *v1alpha1.IntegrationSet) {
	w.t.Helper()
	turned := w.set
	w.set = set
	require.NoError(w.t, w.client.Delete(w.t.Context(), set))
	require.NoError(w.t, w.round(w.process()))
	require.NoError(w.t, w.round(w.process()))
	require.True(w.t, apierrors.IsNotFound(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(set), set)))
	w.set = turned
}

// owners returns the set of each member.
func (w *world) owners() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for integration, d := range w.members() {
		all[integration] = d.Labels[v1alpha1.SetLabel]
	}
	return all
}
