package certificate

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

// ErrNotSynced says that something has not been read yet.
var ErrNotSynced = errors.New("not synced yet")

// ErrNotPublished says that there is no bundle where one is looked for.
var ErrNotPublished = errors.New("no trust bundle published")

// Live is a published bundle as the cluster has it now.
type Live struct {
	watch   *watch
	bundles func(*watch) [][]byte
	where   string
	changed []func()
}

// NewLiveWebhook follows the caBundle of a MutatingWebhookConfiguration.
func NewLiveWebhook(client kubernetes.Interface, name string) *Live {
	return &Live{
		watch: newWatch(client, "", name, webhookKind),
		where: "MutatingWebhookConfiguration " + name,
		bundles: func(w *watch) [][]byte {
			var out [][]byte
			for _, c := range all[*admissionv1.MutatingWebhookConfiguration](w) {
				for i := range c.Webhooks {
					out = append(out, c.Webhooks[i].ClientConfig.CABundle)
				}
			}
			return out
		},
	}
}

// NewLiveTrust follows ConfigMap orcon-trust of a namespace.
func NewLiveTrust(client kubernetes.Interface, namespace string) *Live {
	return &Live{
		watch: newWatch(client, namespace, TrustName, configMapKind),
		where: "ConfigMap " + namespace + "/" + TrustName,
		bundles: func(w *watch) [][]byte {
			c, ok := all[*corev1.ConfigMap](w)[namespace]
			if !ok {
				return nil
			}
			return [][]byte{[]byte(c.Data[TrustKey])}
		},
	}
}

// NeedLeaderElection is false: each replica looks for itself.
func (l *Live) NeedLeaderElection() bool { return false }

// Start follows until ctx ends. It can be called once.
func (l *Live) Start(ctx context.Context) error {
	return l.watch.follow(ctx, l.changed...)
}

// Notify has f, which must not block, called after each change. It is called
// before Start.
func (l *Live) Notify(f func()) { l.changed = append(l.changed, f) }

// Bundles returns each published bundle: a webhook configuration has one for
// each of its webhooks. It fails with ErrNotSynced or ErrNotPublished.
func (l *Live) Bundles() ([][]byte, error) {
	if !l.watch.synced() {
		return nil, fmt.Errorf("cannot read %s: %w", l.where, ErrNotSynced)
	}
	out := l.bundles(l.watch)
	if len(out) == 0 {
		return nil, fmt.Errorf("cannot verify against %s: %w", l.where, ErrNotPublished)
	}
	for _, b := range out {
		if len(bytes.TrimSpace(b)) == 0 {
			return nil, fmt.Errorf("cannot verify against %s: %w", l.where, ErrNotPublished)
		}
	}
	return out, nil
}

// Bundle returns the first published bundle, or nil for none.
func (l *Live) Bundle() []byte {
	bundles, err := l.Bundles()
	if err != nil {
		return nil
	}
	return bundles[0]
}
