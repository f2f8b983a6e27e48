package bundledeployment

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// errRestarting is why a request to the API server fails.
var errRestarting = errors.New("the API server is restarting")

// flaky counts the requests of a controller, and fails one.
type flaky struct {
	requests int
	// breaks is the number of the request that fails; 0 for none.
	breaks int
}

func (f *flaky) request() error {
	if f.requests++; f.requests == f.breaks {
		return errRestarting
	}
	return nil
}

// client returns a client whose requests are counted.
func (f *flaky) client(t *testing.T, c client.Client) client.Client {
	t.Helper()
	inner, ok := c.(client.WithWatch)
	require.True(t, ok)
	return interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if err := f.request(); err != nil {
				return err
			}
			return c.Get(ctx, key, o, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, options ...client.ListOption) error {
			if err := f.request(); err != nil {
				return err
			}
			return c.List(ctx, l, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if err := f.request(); err != nil {
				return err
			}
			return c.Create(ctx, o, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			if err := f.request(); err != nil {
				return err
			}
			return c.Delete(ctx, o, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			if err := f.request(); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, options...)
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, name string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption,
		) error {
			if err := f.request(); err != nil {
				return err
			}
			return c.SubResource(name).Patch(ctx, o, p, options...)
		},
		SubResourceUpdate: func(
			ctx context.Context, c client.Client, name string, o client.Object, options ...client.SubResourceUpdateOption,
		) error {
			if err := f.request(); err != nil {
				return err
			}
			return c.SubResource(name).Update(ctx, o, options...)
		},
	})
}

// reconcileAll gives the deployment a few reconciles. One in which a request fails returns that error
// or publishes it.
func reconcileAll(w *world, r *Reconciler, f *flaky) {
	w.t.Helper()
	for range 8 {
		before := f.requests
		result, err := r.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: shop})
		if f.breaks > before && f.breaks <= f.requests {
			if err == nil {
				require.Contains(w.t, w.ready().Message, errRestarting.Error(), "request %d", f.breaks)
			} else {
				require.ErrorIs(w.t, err, errRestarting, "request %d", f.breaks)
			}
		} else {
			require.NoError(w.t, err)
		}
		w.pass(max(result.RequeueAfter, time.Second))
	}
}

// Whichever request to the API server fails, the reconcile returns or publishes that error, and
// the next ones end as if nothing had failed: a first content, another one, a change by others, and the deletion.
func TestRequestsThatFail(t *testing.T) {
	for n := 1; ; n++ {
		w, f := newWorld(t, configMaps("a"), func(d *v1alpha1.BundleDeployment) { d.Spec.HistoryLimit = 1 }), &flaky{breaks: n}
		r := w.leader()
		r.Client = f.client(t, w.client)
		r.Reader = r.Client
		reconcileAll(w, r, f)
		require.Equal(t, "Healthy", w.ready().Reason, "request %d", n)
		w.source["all.yaml"] = configMaps("b")
		w.pass(r.Resync)
		reconcileAll(w, r, f)
		delete(w.objects, domain.ID{Kind: "ConfigMap", Namespace: "shop", Name: "b"})
		reconcileAll(w, r, f)
		require.Equal(t, "Healthy", w.ready().Reason, "request %d", n)
		require.Equal(t, "ConfigMap/b", w.names(), "request %d", n)
		require.Len(t, w.revisions(), len(w.record.Revisions), "request %d", n)
		require.NoError(t, w.client.Delete(t.Context(), w.deployment()))
		reconcileAll(w, r, f)
		require.Empty(t, w.names(), "request %d", n)
		require.True(t, apierrors.IsNotFound(w.client.Get(t.Context(), shop, &v1alpha1.BundleDeployment{})), "request %d", n)
		if f.requests < n {
			require.Greater(t, n, 20)
			return
		}
	}
}

// revisions are the BundleRevisions in the cluster.
func (w *world) revisions() []v1alpha1.BundleRevision {
	w.t.Helper()
	var all v1alpha1.BundleRevisionList
	require.NoError(w.t, w.client.List(w.t.Context(), &all))
	return all.Items
}

// A deployment that cannot be read for a moment loses nothing: neither its watches nor what was
// fetched.
func TestUnreadableDeployment(t *testing.T) {
	w, f := newWorld(t, configMaps("a")), &flaky{}
	r, watches := w.leader(), &watching{watched: map[string][]domain.ID{}}
	r.Watches, r.Reader = watches, f.client(t, w.client)
	w.run(r, "Healthy")
	f.breaks = f.requests + 1
	_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: shop})
	require.ErrorIs(t, err, errRestarting)
	assert.NotEmpty(t, watches.watched)
	w.reconcile(r)
	assert.Equal(t, 1, w.fetches)
}

// A deployment that is gone leaves nothing in memory, whether Orcon let it go or finds it gone.
func TestForgotten(t *testing.T) {
	empty := func(r *Reconciler) {
		t.Helper()
		assert.Empty(t, r.memories.known)
		assert.Empty(t, r.looks.due)
		assert.Zero(t, r.pool.Orders())
	}
	w := newWorld(t, configMaps("a"))
	r := w.leader()
	r.enqueue = func(types.NamespacedName, time.Duration) {}
	w.run(r, "Healthy")
	r.Changed("shop/shop")
	require.NotEmpty(t, r.looks.due)
	require.NotEmpty(t, r.memories.known)
	require.NoError(t, w.client.Delete(t.Context(), w.deployment()))
	for range 3 {
		w.reconcile(r)
	}
	empty(r)

	w = newWorld(t, configMaps("a"))
	w.fetch = make(chan struct{})
	defer close(w.fetch)
	r = w.leader()
	r.enqueue = func(types.NamespacedName, time.Duration) {}
	w.reconcile(r)
	r.Changed("shop/shop")
	require.Equal(t, 1, r.pool.Orders())
	d := w.deployment()
	d.Finalizers = nil
	require.NoError(t, w.client.Update(t.Context(), d))
	require.NoError(t, w.client.Delete(t.Context(), d))
	w.reconcile(r)
	empty(r)
}

// denied is the error of an account that may not read Secrets.
func denied() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "orcon-bundle-shop", errors.New("no role"))
}

// A record that cannot be read stops everything, and what was published of it stays.
func TestUnreadableRecord(t *testing.T) {
	w := newWorld(t, configMaps("a"))
	r := w.leader()
	w.run(r, "Healthy")
	status := w.deployment().Status
	require.NotZero(t, status.ActiveRevision)

	w.unloadable = errors.New("the API server is restarting")
	w.reconcile(r)
	assert.Equal(t, "StoreFailed", w.ready().Reason)
	assert.Contains(t, w.ready().Message, "the API server is restarting")
	assert.Equal(t, status.ActiveRevision, w.deployment().Status.ActiveRevision)
	assert.Equal(t, status.Objects, w.deployment().Status.Objects)

	w.unloadable = denied()
	result := w.reconcile(r)
	assert.Equal(t, forbidden, w.ready().Reason)
	assert.Contains(t, w.messages(), "kubectl create rolebinding orcon-shop -n shop --clusterrole=admin --serviceaccount=shop:default")
	assert.Equal(t, failed, result.RequeueAfter, "new permissions are not reported")

	w.closed = true
	w.reconcile(r)
	assert.Equal(t, forbidden, w.ready().Reason)
	assert.Contains(t, w.messages(), "the bundle controller may not act as ServiceAccount default: namespace shop has no RoleBinding to "+
		"ClusterRole orcon-bundle-account for it: kubectl create rolebinding orcon-bundle-account -n shop "+
		"--clusterrole=orcon-bundle-account --serviceaccount=orcon-system:bundle-controller "+
		"--dry-run=client -o yaml | kubectl apply -f -; ", "TRUST.md R1")
	assert.Equal(t, status.ActiveRevision, w.deployment().Status.ActiveRevision)

	w.unloadable = nil
	w.run(r, "Healthy")
}

// A record that the account may read and not write stops the deployment with the cure, whether its plan is carried out or
// waits for approval. Any other error of the store is published once it lasts.
func TestUnwritableRecord(t *testing.T) {
	for _, mode := range []domain.ApprovalMode{domain.Auto, domain.ByDigest} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorld(t, configMaps("a"), func(d *v1alpha1.BundleDeployment) { d.Spec.Approval.Mode = string(mode) })
			r := w.leader()
			w.unsavable = denied()
			result := w.reconcile(r)
			assert.Equal(t, forbidden, w.ready().Reason)
			assert.Contains(t, w.messages(), "cannot write the record of shop/shop")
			assert.Contains(t, w.messages(), "kubectl create rolebinding orcon-shop -n shop --clusterrole=admin --serviceaccount=shop:default")
			assert.Equal(t, failed, result.RequeueAfter, "new permissions are not reported")
			assert.Empty(t, w.names())

			w.unsavable = errRestarting
			_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: shop})
			require.ErrorIs(t, err, errRestarting, "it may pass")
			w.pass(r.Resync)
			w.reconcile(r)
			assert.Equal(t, "StoreFailed", w.ready().Reason)
			assert.Contains(t, w.messages(), errRestarting.Error())

			w.unsavable = nil
			w.run(r, map[domain.ApprovalMode]string{domain.Auto: "Healthy", domain.ByDigest: string(domain.Unapproved)}[mode])
		})
	}
}

// What a deployment deployed stays if the deployment is deleted because its definition is. A person who deleted it before
// wanted that; a definition that cannot be read shows nothing (TRUST.md T1).
func TestDeletionWithItsDefinition(t *testing.T) {
	tests := map[string]struct {
		why       string
		since     time.Duration // the deletion of the definition, after that of the deployment
		leaving   bool
		undefined error
		gone      bool
		left      string
	}{
		"Deployment": {why: "the definition stays", gone: true},
		"Together":   {why: "the deployment goes with its definition", leaving: true, gone: true, left: "ConfigMap/a"},
		"Later":      {why: "it was deleted while the definition was waiting for others", leaving: true, since: -time.Minute, gone: true, left: "ConfigMap/a"},
		"Before":     {why: "a person deleted it, and later the definition", leaving: true, since: time.Minute, gone: true},
		"Missing":    {why: "the definition has gone", undefined: apierrors.NewNotFound(schema.GroupResource{}, "x"), gone: true, left: "ConfigMap/a"},
		"Unread":     {why: "nothing is known of the definition", undefined: denied(), left: "ConfigMap/a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, configMaps("a"))
			r := w.leader()
			w.run(r, "Healthy")
			require.NoError(t, w.client.Delete(t.Context(), w.deployment()))
			if test.leaving {
				w.leaving = new(metav1.NewTime(w.deployment().DeletionTimestamp.Add(test.since)))
			}
			w.undefined = test.undefined
			for range 3 {
				_, _ = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: shop}) // an error is one of the definition
			}
			err := w.client.Get(t.Context(), shop, &v1alpha1.BundleDeployment{})
			assert.Equal(t, test.gone, apierrors.IsNotFound(err), test.why)
			assert.Equal(t, test.left, w.names(), test.why)
		})
	}
}

// The deletion of a deployment whose account may do nothing waits for the account, unless nothing
// was made with it, or its namespace goes too.
func TestDeletionWithoutPermissions(t *testing.T) {
	gone := func(w *world) bool {
		return apierrors.IsNotFound(w.client.Get(t.Context(), shop, &v1alpha1.BundleDeployment{}))
	}
	w := newWorld(t, configMaps("a"))
	r := w.leader()
	w.unloadable = denied()
	w.reconcile(r)
	require.NoError(t, w.client.Delete(t.Context(), w.deployment()))
	w.reconcile(r)
	assert.True(t, gone(w), "nothing was made")

	w = newWorld(t, configMaps("a"))
	r = w.leader()
	w.run(r, "Healthy")
	namespace := &corev1.Namespace{}
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Name: shop.Namespace}, namespace))
	namespace.Finalizers = []string{"example.org/hold"}
	require.NoError(t, w.client.Update(t.Context(), namespace))
	w.unloadable = denied()
	require.NoError(t, w.client.Delete(t.Context(), w.deployment()))
	w.reconcile(r)
	require.False(t, gone(w))
	assert.Equal(t, forbidden, w.ready().Reason)
	assert.Contains(t, w.ready().Message, "deletion is waiting: ")
	require.NoError(t, w.client.Delete(t.Context(), namespace))
	w.news()
	w.reconcile(r)
	assert.True(t, gone(w), "the permissions never return")
	assert.Contains(t, w.news(), "Warning Abandoned the namespace is being deleted and the account has lost its permissions: objects in other "+
		"namespaces stay")
}

// messages are those of all conditions.
func (w *world) messages() string {
	var all []string
	for _, c := range w.deployment().Status.Conditions {
		all = append(all, c.Message)
	}
	return strings.Join(all, "\n")
}

// news returns the Events since the last call.
func (w *world) news() []string {
	var all []string
	for {
		select {
		case e := <-w.events.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}
