package certificate

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"sync"
	"time"

	servertls "github.com/cert-manager/cert-manager/pkg/server/tls"
	certauthority "github.com/cert-manager/cert-manager/pkg/server/tls/authority"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

// signTimeout bounds the read of the Secret before a leaf is signed.
const signTimeout = 10 * time.Second

// authority signs leaves with what Secret orcon-ca says. It never writes.
type authority struct {
	client    kubernetes.Interface
	namespace string
	periods   Periods
	now       func() time.Time
	secret    *watch

	lock     sync.Mutex
	signer   *x509.Certificate
	watchers []chan<- struct{}
}

var _ servertls.Authority = (*authority)(nil)

// Run follows the Secret until ctx ends.
func (a *authority) Run(ctx context.Context) error { return a.secret.follow(ctx, a.see) }

// see tells the watchers when another authority signs. A Secret that is gone
// or unreadable changes nothing: the leaf in use is still trusted.
func (a *authority) see() {
	s := FromSecret(all[*corev1.Secret](a.secret)[a.namespace])
	a.lock.Lock()
	defer a.lock.Unlock()
	if s.Current == nil || a.signer.Equal(s.Current.Certificate) {
		return
	}
	a.signer = s.Current.Certificate
	for _, ch := range a.watchers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// WatchRotation has ch told when another authority signs.
func (a *authority) WatchRotation(ch chan<- struct{}) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.watchers = append(a.watchers, ch)
}

// StopWatchingRotation ends WatchRotation.
func (a *authority) StopWatchingRotation(ch chan<- struct{}) {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.watchers = slices.DeleteFunc(a.watchers, func(c chan<- struct{}) bool { return c == ch })
}

// Sign signs a leaf. It reads the Secret itself, not what a watch last saw: a
// replica that lags must not sign with an authority that is about to be
// dropped. That bounds the life of every leaf by the moment of promotion.
func (a *authority) Sign(template *x509.Certificate) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(context.Background(), signTimeout)
	defer cancel()
	secret, err := readSecret(ctx, a.client, a.namespace, SecretName)
	if err != nil {
		return nil, err
	}
	s := FromSecret(secret)
	if s.Current == nil {
		return nil, fmt.Errorf("cannot sign with Secret %s/%s: %w", a.namespace, SecretName, certauthority.ErrCertificateNotAvailable)
	}
	return s.Current.Sign(template, a.now(), a.periods)
}
