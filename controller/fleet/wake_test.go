package fleet

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// secrets are the Secrets of a namespace, as an account sees them.
type secrets struct {
	*world

	token string
	err   error
	// reads lists the accounts, owners and names that were read.
	reads []string
}

func (s *secrets) connect(account, owner string) (Inputs, error) {
	s.reads = append(s.reads, account+" "+owner)
	return s, nil
}

// Credentials implements Inputs.
func (s *secrets) Credentials(_ context.Context, name string) (bundle.Credentials, error) {
	s.reads = append(s.reads, name)
	return bundle.Credentials{Token: s.token}, s.err
}

// waker returns a replica of the webhook; its clock is the world's.
func (s *secrets) waker() *Waker {
	return &Waker{
		Client: s.client, Reader: s.client, Connect: s.connect, Now: func() time.Time { return s.now },
		Failed: func(set types.NamespacedName, err error) { assert.NoError(s.t, err, set) },
	}
}

// The secret of a webhook is read as the set's account, and not for each request (FLEET.md D5).
func TestToken(t *testing.T) {
	s := &secrets{world: newWorld(t), token: "hush\n"}
	w := s.waker()
	read := func(name string) string {
		text, err := w.Token(t.Context(), "fleet", name)
		require.NoError(t, err)
		return text
	}
	assert.Empty(t, read("none"))
	assert.Empty(t, read("prod"), "it has no webhook")
	assert.Empty(t, s.reads)

	s.set.Spec.ServiceAccountName = "robot"
	s.set.Spec.Data.Webhook = &v1alpha1.IntegrationWebhook{SecretRef: bundlev1alpha1.BundleSecretRef{Name: "hook"}}
	require.NoError(t, s.client.Update(t.Context(), s.set))
	assert.Equal(t, "hush", read("prod"))
	assert.Equal(t, []string{"system:serviceaccount:fleet:robot fleet/prod", "hook"}, s.reads)
	s.token = "other"
	s.now = s.now.Add(fresh - 1)
	assert.Equal(t, "hush", read("prod"), "it is known for a moment")
	assert.Len(t, s.reads, 2)
	s.now = s.now.Add(1)
	assert.Equal(t, "other", read("prod"))

	for _, change := range []func(*v1alpha1.IntegrationSetSpec){
		func(spec *v1alpha1.IntegrationSetSpec) { spec.ServiceAccountName = "" },
		func(spec *v1alpha1.IntegrationSetSpec) { spec.Data.Webhook.SecretRef.Name = "hook2" },
	} {
		s.reads = nil
		change(&s.read().Spec)
		require.NoError(t, s.client.Update(t.Context(), s.set))
		read("prod")
		assert.Len(t, s.reads, 2, "what another account sees, or another Secret, is read")
	}
	assert.Equal(t, []string{"system:serviceaccount:fleet:default fleet/prod", "hook2"}, s.reads)
}

// A Secret that cannot be read is an error once, and no secret.
func TestTokenUnreadable(t *testing.T) {
	s := &secrets{world: newWorld(t), err: errors.New("forbidden")}
	s.set.Spec.Data.Webhook = &v1alpha1.IntegrationWebhook{SecretRef: bundlev1alpha1.BundleSecretRef{Name: "hook"}}
	require.NoError(t, s.client.Update(t.Context(), s.set))
	w := s.waker()
	_, err := w.Token(t.Context(), "fleet", "prod")
	require.ErrorContains(t, err, "spec.data.webhook.secretRef: forbidden")
	text, err := w.Token(t.Context(), "fleet", "prod")
	require.NoError(t, err)
	assert.Empty(t, text)
	s.now, s.err = s.now.Add(fresh), nil
	_, err = w.Token(t.Context(), "fleet", "prod")
	require.ErrorContains(t, err, "key token is missing in Secret hook: add it")
	w.keep(types.NamespacedName{Name: "second"}, token{at: s.now.Add(1)})
	assert.Len(t, w.tokens, 2)
	w.keep(types.NamespacedName{Name: "third"}, token{at: s.now.Add(fresh)})
	assert.Len(t, w.tokens, 2, "old ones are forgotten")
	w.keep(types.NamespacedName{Name: "third"}, token{at: s.now.Add(fresh), text: "new"})
	assert.Equal(t, "new", w.tokens[types.NamespacedName{Name: "third"}].text)
}

// asked returns when the webhook has last asked for a fetch.
func (s *secrets) asked() string { return s.read().Annotations[v1alpha1.FetchKey] }

// Requests within 10 s of a fetch have one more when they are over, whichever replica answers (FLEET.md D5).
func TestWake(t *testing.T) {
	s := &secrets{world: newWorld(t)}
	one, two := s.waker(), s.waker()
	wake := func(w *Waker) { require.NoError(t, w.Wake(t.Context(), "fleet", "prod")) }
	key := types.NamespacedName{Namespace: "fleet", Name: "prod"}
	first := s.now.UTC().Format(time.RFC3339Nano)
	wake(one)
	assert.Equal(t, first, s.asked())

	s.now = s.now.Add(time.Second)
	for _, w := range []*Waker{one, one, two} {
		wake(w)
	}
	assert.Equal(t, first, s.asked(), "10 s are not over")
	assert.Len(t, one.waiting, 1)
	s.now = s.now.Add(9 * time.Second)
	second := s.now.UTC().Format(time.RFC3339Nano)
	require.NoError(t, one.due(t.Context(), key))
	assert.Equal(t, second, s.asked(), "no request is lost")
	assert.Empty(t, one.waiting)
	require.NoError(t, two.due(t.Context(), key))
	assert.Equal(t, second, s.asked(), "the other replica has asked")

	s.now = s.now.Add(time.Second)
	wake(two)
	s.set.Annotations[v1alpha1.FetchKey] = "by hand"
	require.NoError(t, s.client.Update(t.Context(), s.set))
	s.now = s.now.Add(9 * time.Second)
	require.NoError(t, two.due(t.Context(), key))
	assert.Equal(t, "by hand", s.asked(), "a person has asked since the request")
	wake(two)
	assert.Equal(t, s.now.UTC().Format(time.RFC3339Nano), s.asked(), "a text that is no time is none")
	s.set.Annotations[v1alpha1.FetchKey] = s.now.Add(time.Hour).Format(time.RFC3339)
	require.NoError(t, s.client.Update(t.Context(), s.set))
	wake(one)
	assert.Equal(t, s.now.UTC().Format(time.RFC3339Nano), s.asked(), "nor is one that has not come")
	require.Error(t, one.Wake(t.Context(), "fleet", "none"))
	require.NoError(t, one.due(t.Context(), types.NamespacedName{Namespace: "fleet", Name: "gone"}))
}

// What was planned happens by itself, after the request has ended.
func TestWakesLater(t *testing.T) {
	s := &secrets{world: newWorld(t)}
	s.now = time.Now()
	w := s.waker()
	w.Now = time.Now
	s.set.Annotations = map[string]string{v1alpha1.FetchKey: s.now.Add(200*time.Millisecond - interval).UTC().Format(time.RFC3339Nano)}
	require.NoError(t, s.client.Update(t.Context(), s.set))
	before := s.asked()
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, w.Wake(ctx, "fleet", "prod"))
	assert.Equal(t, before, s.asked())
	cancel()
	assert.Eventually(t, func() bool {
		var set v1alpha1.IntegrationSet
		require.NoError(t, s.client.Get(t.Context(), client.ObjectKeyFromObject(s.set), &set))
		return set.Annotations[v1alpha1.FetchKey] != before
	}, 10*time.Second, 20*time.Millisecond)
}

// Of two replicas that answer at one time one writes.
func TestWakeOnce(t *testing.T) {
	s := &secrets{world: newWorld(t)}
	var once sync.Once
	other := s.waker()
	w := s.waker()
	writes := 0
	w.Client = interceptor.NewClient(s.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			once.Do(func() { assert.NoError(t, other.Wake(ctx, "fleet", "prod")) })
			err := c.Patch(ctx, o, p, options...)
			if err == nil {
				writes++
			}
			return err
		},
	})
	require.NoError(t, w.Wake(t.Context(), "fleet", "prod"))
	assert.Zero(t, writes)
	assert.Len(t, w.waiting, 1, "its fetch may have begun before the request")
}

// What the cluster refuses is an error, of the request or, once that is answered, of Failed.
func TestWakeFails(t *testing.T) {
	s := &secrets{world: newWorld(t), token: "hush"}
	s.set.Spec.Data.Webhook = &v1alpha1.IntegrationWebhook{SecretRef: bundlev1alpha1.BundleSecretRef{Name: "hook"}}
	require.NoError(t, s.client.Update(t.Context(), s.set))
	down := errors.New("the API server is away")
	reads := true
	broken := interceptor.NewClient(s.client, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if !reads {
				return down
			}
			return c.Get(ctx, key, o, options...)
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return down
		},
	})
	w := s.waker()
	failed := make(chan error, 1)
	w.Client, w.Reader, w.Failed = broken, broken, func(_ types.NamespacedName, err error) { failed <- err }
	require.ErrorIs(t, w.Wake(t.Context(), "fleet", "prod"), down, "it cannot write")
	reads = false
	require.ErrorIs(t, w.Wake(t.Context(), "fleet", "prod"), down, "it cannot read")
	_, err := w.Token(t.Context(), "fleet", "prod")
	require.ErrorIs(t, err, down)
	reads = true
	w.Connect = func(string, string) (Inputs, error) { return nil, down }
	_, err = w.Token(t.Context(), "fleet", "prod")
	require.ErrorIs(t, err, down)

	w.Now = time.Now
	last := time.Now().Add(100*time.Millisecond - interval).UTC().Format(time.RFC3339Nano)
	metav1.SetMetaDataAnnotation(&s.read().ObjectMeta, v1alpha1.FetchKey, last)
	require.NoError(t, s.client.Update(t.Context(), s.set))
	require.NoError(t, w.Wake(t.Context(), "fleet", "prod"))
	assert.ErrorIs(t, <-failed, down)
}

// slow is a cluster whose ConfigMaps take time to be read.
type slow struct {
	*world

	// began receives a value when a read has begun, which ends when it can be sent to end.
	began, end chan struct{}
}

// Files implements Inputs.
func (s slow) Files(ctx context.Context, names []string) (bundle.Tree, error) {
	tree, err := s.world.Files(ctx, names)
	if names[0] != "data" {
		return tree, err
	}
	s.began <- struct{}{}
	<-s.end
	return tree, err
}

// A set that is asked to fetch while it fetches does so again, since its first fetch may have been too early
// (FLEET.md D5).
func TestAskedMeanwhile(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.runs("a", "1")
	w.settle(r)
	s := slow{w, make(chan struct{}), make(chan struct{})}
	r.Connect = func(string, string) (Inputs, error) { return s, nil }
	again := func() time.Duration {
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.set)})
		require.NoError(t, err)
		return result.RequeueAfter
	}
	w.now = w.now.Add(time.Minute)
	go func() { <-s.began }()
	again() // begins to fetch
	w.runs("b", "1")
	metav1.SetMetaDataAnnotation(&w.read().ObjectMeta, v1alpha1.FetchKey, "now")
	require.NoError(t, w.client.Update(t.Context(), w.set))
	again() // still fetches
	s.end <- struct{}{}
	assert.Eventually(t, func() bool { return again() == soon }, 10*time.Second, 10*time.Millisecond, "the first fetch has ended")
	go func() {
		<-s.began
		s.end <- struct{}{}
	}()
	assert.Eventually(t, func() bool {
		again()
		_, made := w.members()["b"]
		return made
	}, 10*time.Second, 10*time.Millisecond)
}
