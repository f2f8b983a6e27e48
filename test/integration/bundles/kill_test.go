package bundles

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundledeployment"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// A controller that is killed between any two writes, its own and those of a deployment's
// account, leaves what the next one goes on from: all ends as if nobody had been killed
// (BUNDLES.md 8).
func TestControllerKilledBetweenAnyTwoWrites(t *testing.T) {
	t.Parallel()
	const lanes, runs = 8, 200
	for lane := range uint64(lanes) {
		t.Run(fmt.Sprint(lane), func(t *testing.T) {
			t.Parallel()
			first := newOperated(t)
			for seed := lane; seed < runs; seed += lanes {
				first.another().killedThroughoutItsLife(seed)
			}
		})
	}
}

// killedThroughoutItsLife installs, upgrades and removes a deployment.
func (w *operated) killedThroughoutItsLife(seed uint64) {
	t := w.t
	random := rand.New(rand.NewPCG(seed, 0))
	d := w.bundle(blue + extra + secret)
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.killedWhileKeeping(random, d)
	require.Equal(t, map[string]map[string]string{"colour": {"colour": "blue", "size": "3"}, "extra": {"a": "b"}}, w.made(), "seed %d", seed)
	w.source("content-shop", green+service)
	w.killedWhileKeeping(random, d)
	require.Equal(t, map[string]map[string]string{"colour": {"colour": "green"}}, w.made(), "seed %d", seed)
	require.EqualValues(t, 2, d.Status.HealthyRevision, "seed %d: no revision more than was wanted", seed)
	require.NoError(t, w.admin.Delete(w.ctx, d))
	w.killedWhileKeeping(random, nil)
	require.True(t, apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d)), "seed %d", seed)
	assert.Empty(t, w.made(), "seed %d", seed)
}

// killedWhileKeeping gives the deployment turns of controllers that die after some writes,
// and last of one that lives, until what is wanted is there; nil for that it is gone.
func (w *operated) killedWhileKeeping(random *rand.Rand, d *v1alpha1.BundleDeployment) {
	w.t.Helper()
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: "shop"}}
	for range random.IntN(4) {
		r, ctx := w.mortal(random.Int64N(14))
		for range 3 { // the queue gives another turn to what has failed
			if _, err := r.Reconcile(ctx, request); err == nil {
				break
			}
		}
	}
	r, ctx := w.mortal(-1)
	for settled := false; !settled; {
		result, err := r.Reconcile(ctx, request)
		require.NoError(w.t, err)
		settled = result.RequeueAfter != r.Pause
	}
	if d != nil {
		require.NoError(w.t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
		ready := meta.FindStatusCondition(d.Status.Conditions, "Ready")
		require.NotNil(w.t, ready)
		require.Equal(w.t, "Healthy", ready.Reason, ready.Message)
	}
}

// mortal is a controller that dies at its first write beyond so many; negative for none.
func (w *operated) mortal(writes int64) (*bundledeployment.Reconciler, context.Context) {
	w.t.Helper()
	ctx, die := context.WithCancel(w.ctx)
	w.t.Cleanup(die)
	cfg := rest.CopyConfig(w.config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return w.watched(next, writes, die) })
	c, err := client.New(cfg, client.Options{Scheme: w.admin.Scheme(), Mapper: w.admin.RESTMapper()})
	require.NoError(w.t, err)
	r := reconciler(w.t, c, c, cfg, w.admin.RESTMapper(), &events.FakeRecorder{})
	work := content.Worker(render.Output)
	r.Contents.Fetching, r.Contents.Rendering = work, work // child processes would take most of the time
	return r, ctx
}

// made are the ConfigMaps of the namespace that bundles made.
func (w *operated) made() map[string]map[string]string {
	all := w.configMaps()
	delete(all, "content-shop")
	return all
}

// The same for the command.
func TestKilledBetweenAnyTwoWrites(t *testing.T) {
	t.Parallel()
	const runs = 20
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t)
		w.killed(random, blue+extra+secret)
		require.Equal(t, map[string]map[string]string{"colour": {"colour": "blue", "size": "3"}, "extra": {"a": "b"}}, w.configMaps(), "seed %d", seed)
		w.killed(random, green+service)
		require.Equal(t, map[string]map[string]string{"colour": {"colour": "green"}}, w.configMaps(), "seed %d", seed)
		w.killedUninstalling(random)
		assert.Empty(t, w.configMaps(), "seed %d", seed)
	}
}

// Who is killed while an upgrade fails, or on the way back, leaves to the next one to
// finish that way (BUNDLES.md 6 and 8).
func TestKilledOnTheWayBack(t *testing.T) {
	t.Parallel()
	const runs = 6
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t)
		require.NoError(t, w.install(blue+extra))
		for range 3 {
			p := w.process(3 + random.Int64N(9))
			_ = p.install(p.wish(t, green+broken))
		}
		require.Error(t, w.install(green+broken), "seed %d", seed)
		assert.Equal(t, map[string]map[string]string{"colour": {"colour": "blue", "size": "3"}, "extra": {"a": "b"}}, w.configMaps(), "seed %d", seed)
	}
}

// killed installs by processes that die after some writes, and last by one that lives.
func (w *world) killed(random *rand.Rand, manifests string) {
	w.t.Helper()
	for range random.IntN(4) {
		p := w.process(random.Int64N(8))
		_ = p.install(p.wish(w.t, manifests))
	}
	require.NoError(w.t, w.install(manifests))
}

func (w *world) killedUninstalling(random *rand.Rand) {
	w.t.Helper()
	_ = w.process(random.Int64N(6)).uninstall()
	require.NoError(w.t, w.process(-1).uninstall())
	controlplane.Eventually(w.t, func() bool { return len(w.secrets()) == 0 }, time.Minute, "what was stored is collected")
}
