package certificate

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	"github.com/golang/glog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LeafName is the Secret that holds the webhook's certificate and its key, in Orcon's namespace.
const LeafName = "orcon-webhook-tls"

// leafOf reads the pair in a Secret. The error is ErrNoCertificate where there is none.
func leafOf(secret *corev1.Secret) (*tls.Certificate, error) {
	if secret == nil || len(secret.Data) == 0 {
		return nil, ErrNoCertificate
	}
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, err
	}
	return &pair, nil
}

// due returns how long a leaf is good yet: until a third of its life is left, so that it outlives an outage of the
// controller that is shorter. It is 0 for one that is for other names, or that another authority signed.
func (r *Root) due(pair *tls.Certificate, names []string, now time.Time, p Periods) time.Duration {
	leaf := pair.Leaf
	if !slices.Equal(leaf.DNSNames, names) || leaf.CheckSignatureFrom(r.Certificate) != nil || now.Before(leaf.NotBefore) {
		return 0
	}
	life := min(p.Leaf, leaf.NotAfter.Sub(leaf.NotBefore))
	return max(0, leaf.NotAfter.Add(-life/3).Sub(now))
}

// NewLeaf returns a new key and a certificate for it and the names, as the data of a Secret.
func (r *Root) NewLeaf(names []string, now time.Time, p Periods) (map[string][]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot generate a key: %w", err)
	}
	leaf, err := r.Sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, PublicKey: key.Public(),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, now, p)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("cannot encode a key: %w", err)
	}
	return map[string][]byte{
		corev1.TLSCertKey: Bundle(leaf), corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: der}),
	}, nil
}

// renew keeps the webhook's leaf, and returns for how long there is nothing to do. It signs with an authority that the
// API server trusts already, as of the time at which the authority was read: that bounds the life of every leaf by the
// moment of promotion.
func (r *Rotator) renew(ctx context.Context, signer *Root, places []place, now time.Time) (time.Duration, error) {
	if len(r.webhookNames) == 0 {
		return never, nil
	}
	for _, at := range webhooksOf(places) {
		if !slices.ContainsFunc(at.trusted(), signer.Certificate.Equal) {
			return soon, nil
		}
	}
	secret, err := readSecret(ctx, r.client, r.namespace, LeafName)
	if err != nil {
		return 0, err
	}
	if pair, err := leafOf(secret); err == nil {
		if wait := signer.due(pair, r.webhookNames, now, r.periods); wait > 0 {
			return wait, nil
		}
	}
	data, err := signer.NewLeaf(r.webhookNames, now, r.periods)
	if err == nil && secret == nil {
		secret, err = createSecret(ctx, r.client, r.namespace, LeafName)
	}
	if err == nil {
		secret.Data = data
		_, err = r.client.CoreV1().Secrets(r.namespace).Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return 0, fmt.Errorf("cannot renew the webhook's certificate in Secret %s/%s: %w", r.namespace, LeafName, err)
	}
	glog.Infof("the webhook's certificate is renewed")
	return 2 * r.periods.Leaf / 3, nil
}
