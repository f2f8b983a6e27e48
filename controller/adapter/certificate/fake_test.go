package certificate

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

const (
	orcon   = "orcon-system"
	webhook = "relations-mutating-webhook"
)

// names is a list of namespaces that a test changes by hand.
type names struct {
	list   []string
	err    error
	notify func()
}

func (n *names) Names() ([]string, error) { return n.list, n.err }
func (n *names) Notify(f func())          { n.notify = f }

// configuration is what the manifests install: two webhooks without caBundle.
func configuration() *admissionv1.MutatingWebhookConfiguration {
	out := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: webhook}}
	for _, name := range []string{"pods.tengu.io", "declarations.tengu.io"} {
		out.Webhooks = append(out.Webhooks, admissionv1.MutatingWebhook{
			Name: name, SideEffects: new(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: orcon, Name: webhook}},
		})
	}
	return out
}

// rig is a rotator on a fake API server with a clock.
type rig struct {
	t          testing.TB
	client     *fake.Clientset
	namespaces *names
	now        time.Time
	// leafNames are those of the webhook's leaf; none: it has one from elsewhere.
	leafNames []string
}

func newRig(t testing.TB, objects ...runtime.Object) *rig {
	return &rig{
		t: t, client: fake.NewClientset(objects...), now: start(),
		namespaces: &names{list: []string{"shop", "blog"}},
	}
}

// rotator begins a rotator's life: its caches are filled anew.
func (r *rig) rotator(ctx context.Context) *Rotator {
	out, err := NewRotator(RotatorOptions{
		Client: r.client, Namespace: orcon, WebhookConfiguration: webhook, WebhookNames: r.leafNames,
		Namespaces: r.namespaces, Now: func() time.Time { return r.now },
	})
	require.NoError(r.t, err)
	for _, w := range append(out.publisher.watches(), out.secret, out.leaf) {
		require.NoError(r.t, w.start(ctx))
	}
	return out
}

// settle lets new rotators work until nothing is left to do at this time, and
// returns how long that lasts. The rotator's caches are those of the moment
// at which it began.
func (r *rig) settle() time.Duration {
	for range 20 {
		ctx, cancel := context.WithCancel(r.t.Context())
		wait, err := r.rotator(ctx).pass(ctx)
		cancel()
		if err == nil && wait > 0 {
			return wait
		}
	}
	require.Fail(r.t, "the rotator does not settle")
	return 0
}

func (r *rig) state() State {
	secret, err := readSecret(r.t.Context(), r.client, orcon, SecretName)
	require.NoError(r.t, err)
	return FromSecret(secret)
}

func (r *rig) trust(namespace string) string {
	c, err := r.client.CoreV1().ConfigMaps(namespace).Get(r.t.Context(), TrustName, metav1.GetOptions{})
	require.NoError(r.t, err)
	return c.Data[TrustKey]
}

func (r *rig) caBundles() []string {
	c, err := r.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(r.t.Context(), webhook, metav1.GetOptions{})
	require.NoError(r.t, err)
	var out []string
	for _, w := range c.Webhooks {
		out = append(out, string(w.ClientConfig.CABundle))
	}
	return out
}

// requirePublished fails unless every place has the bundle of the Secret.
func (r *rig) requirePublished() {
	want := string(r.state().Bundle())
	require.NotEmpty(r.t, want)
	for _, ns := range append([]string{orcon}, r.namespaces.list...) {
		require.Equal(r.t, want, r.trust(ns), ns)
	}
	require.Equal(r.t, []string{want, want}, r.caBundles())
}

var errDead = errors.New("this process is dead")

// diesAfter fails every write but the first few. The last of them may be
// carried out although its answer never comes.
func (r *rig) diesAfter(writes int, unheard bool) (revive func()) {
	left := &atomic.Int64{}
	left.Store(int64(writes))
	alive := &atomic.Bool{}
	r.client.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if alive.Load() || a.GetVerb() == "get" || a.GetVerb() == "list" {
			return false, nil, nil
		}
		switch n := left.Add(-1); {
		case n >= 0:
			return false, nil, nil
		case n == -1 && unheard:
			r.carryOut(a)
		}
		return true, nil, errDead
	})
	return func() { alive.Store(true) }
}

// carryOut does a write on the tracker, as the API server would.
func (r *rig) carryOut(a clienttesting.Action) {
	_, _, err := clienttesting.ObjectReaction(r.client.Tracker())(a)
	require.NoError(r.t, err)
}

// hasKeys returns the keys of Secret orcon-ca.
func hasKeys(secret *corev1.Secret) map[string]bool {
	out := map[string]bool{}
	for key := range secret.Data {
		out[key] = true
	}
	return out
}
