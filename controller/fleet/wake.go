package fleet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
)

const (
	// interval is the least time between two fetches that webhooks ask for.
	interval = 10 * time.Second
	// fresh is how long the secret of a webhook is known without being read again, so that requests without it cost
	// the API server nothing.
	fresh = 10 * time.Second
	// late bounds a write that no request waits for.
	late = 30 * time.Second
)

// Waker has sets fetch their data for webhooks. Every replica may have one: what they share is an annotation of the set.
type Waker struct {
	// Client reads sets from the cache and writes them, Reader reads them as they are now.
	Client client.Client
	Reader client.Reader
	// Connect returns what the account of a set sees, by its user name.
	Connect func(account, owner string) (Inputs, error)
	Now     func() time.Time
	// Failed is called for a fetch that could not be asked for later.
	Failed func(set types.NamespacedName, err error)

	mu sync.Mutex
	// tokens are secrets that were read a moment ago.
	tokens map[types.NamespacedName]token
	// waiting holds the sets that will be woken later, with the annotation that the last request has seen.
	waiting map[types.NamespacedName]string
}

// token is the secret of a webhook, read at a time.
type token struct {
	text    string
	of      string
	at      time.Time
	account string
}

// Token returns the secret of a set's webhook; "" for a set that has none, or does not exist. A Secret that cannot be read
// is an error once in a while, and else no secret.
func (w *Waker) Token(ctx context.Context, namespace, name string) (string, error) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	f := feed{set: &v1alpha1.IntegrationSet{}}
	if err := w.Client.Get(ctx, key, f.set); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if f.set.Spec.Data.Webhook == nil {
		return "", nil
	}
	t := token{of: f.set.Spec.Data.Webhook.SecretRef.Name, account: f.account(), at: w.Now()}
	if known, ok := w.known(key, t); ok {
		return known, nil
	}
	err := w.read(ctx, f.owner(), &t)
	w.keep(key, t)
	if err != nil {
		return "", fmt.Errorf("spec.data.webhook.secretRef: %w", err)
	}
	return t.text, nil
}

// read reads a secret as the set's account. A line end, which editors write, is not part of it.
func (w *Waker) read(ctx context.Context, owner string, t *token) error {
	inputs, err := w.Connect(t.account, owner)
	if err != nil {
		return err
	}
	credentials, err := inputs.Credentials(ctx, t.of)
	if err != nil {
		return err
	}
	if t.text = strings.TrimRight(credentials.Token, "\r\n"); t.text == "" {
		return fmt.Errorf("key token is missing in Secret %s: add it", t.of)
	}
	return nil
}

// known returns a secret that was read a moment ago, of the same Secret by the same account.
func (w *Waker) known(key types.NamespacedName, now token) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.tokens[key]
	return t.text, ok && t.of == now.of && t.account == now.account && now.at.Sub(t.at) < fresh
}

// keep stores a secret, and forgets those that are too old.
func (w *Waker) keep(key types.NamespacedName, t token) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tokens := map[types.NamespacedName]token{key: t}
	for other, known := range w.tokens {
		if other != key && t.at.Sub(known.at) < fresh {
			tokens[other] = known
		}
	}
	w.tokens = tokens
}

// Wake has a set fetch its data by an annotation. Where that happened within the last 10 s, it happens when they are over,
// once for all requests of that time: this replica remembers it. One that ends meanwhile forgets it, and the set fetches
// its data at its next interval.
func (w *Waker) Wake(ctx context.Context, namespace, name string) error {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	for {
		var set v1alpha1.IntegrationSet
		if err := w.Reader.Get(ctx, key, &set); err != nil {
			return fmt.Errorf("cannot read the set: %w", err)
		}
		seen := set.Annotations[v1alpha1.FetchKey]
		if wait := w.wait(seen); wait > 0 {
			w.later(ctx, key, seen, wait)
			return nil
		}
		if err := w.write(ctx, &set); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// wait returns how long to wait after a fetch that was asked for at a time. A time that cannot be is none.
func (w *Waker) wait(last string) time.Duration {
	at, err := time.Parse(time.RFC3339Nano, last)
	now := w.Now()
	if err != nil || at.After(now.Add(interval)) {
		return 0
	}
	return at.Add(interval).Sub(now)
}

// write asks for a fetch now. It is a conflict if the set has changed since it was read: another replica may have asked.
func (w *Waker) write(ctx context.Context, set *v1alpha1.IntegrationSet) error {
	before := set.DeepCopy()
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, v1alpha1.FetchKey, w.Now().UTC().Format(time.RFC3339Nano))
	err := w.Client.Patch(ctx, set, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("cannot annotate the set: %w", err)
	}
	return nil
}

// later asks for a fetch after some time, unless that is planned.
func (w *Waker) later(ctx context.Context, key types.NamespacedName, seen string, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, planned := w.waiting[key]
	if w.waiting == nil {
		w.waiting = map[types.NamespacedName]string{}
	}
	if w.waiting[key] = seen; planned {
		return
	}
	ctx = context.WithoutCancel(ctx) // the request is answered now
	time.AfterFunc(wait, func() {
		ctx, cancel := context.WithTimeout(ctx, late)
		defer cancel()
		if err := w.due(ctx, key); err != nil {
			w.Failed(key, err)
		}
	})
}

// due asks for a fetch that was planned, unless another replica has asked since the last request.
func (w *Waker) due(ctx context.Context, key types.NamespacedName) error {
	w.mu.Lock()
	seen := w.waiting[key]
	delete(w.waiting, key)
	w.mu.Unlock()
	var set v1alpha1.IntegrationSet
	if err := w.Reader.Get(ctx, key, &set); err != nil || set.Annotations[v1alpha1.FetchKey] != seen {
		return client.IgnoreNotFound(err)
	}
	return w.Wake(ctx, key.Namespace, key.Name)
}
