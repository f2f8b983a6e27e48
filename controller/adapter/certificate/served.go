package certificate

import (
	"context"
	"crypto/tls"
	"errors"
	"sync/atomic"

	"github.com/golang/glog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

// Served is a Source that serves the pair in Secret orcon-webhook-tls, which the [Rotator] signs: it reads no key but
// that. A pair that is gone or does not fit together leaves the last good one in use.
type Served struct {
	namespace string
	secret    *watch
	pair      atomic.Pointer[tls.Certificate]
}

var _ Source = (*Served)(nil)

// NewServed returns a source that has no certificate until it is started and the Secret holds one.
func NewServed(client kubernetes.Interface, namespace string) *Served {
	return &Served{namespace: namespace, secret: newWatch(client, namespace, LeafName, secretKind)}
}

// GetCertificate returns the last good pair, or an error while there is none.
func (s *Served) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	pair := s.pair.Load()
	if pair == nil {
		return nil, ErrNoCertificate
	}
	return pair, nil
}

// NeedLeaderElection is false: each replica serves.
func (s *Served) NeedLeaderElection() bool { return false }

// Start follows the Secret until ctx ends. It can be called once.
func (s *Served) Start(ctx context.Context) error { return s.secret.follow(ctx, s.load) }

// load takes a good pair into use.
func (s *Served) load() {
	pair, err := leafOf(all[*corev1.Secret](s.secret)[s.namespace])
	switch {
	case errors.Is(err, ErrNoCertificate):
		glog.Warningf("Secret %s/%s holds no certificate yet: the certificate in use is kept, if there is one", s.namespace, LeafName)
	case err != nil:
		glog.Errorf("the certificate in use is kept: cannot use Secret %s/%s: %v", s.namespace, LeafName, err)
	default:
		if old := s.pair.Swap(pair); old == nil || !samePair(old, pair) {
			glog.Infof("certificate read from Secret %s/%s, valid until %s", s.namespace, LeafName, pair.Leaf.NotAfter)
		}
	}
}
