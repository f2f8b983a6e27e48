package certificate

import (
	"context"
	"crypto/tls"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A leaf is replaced while a third of its life is left, or when the signer or the names change.
func TestLeafIsDue(t *testing.T) {
	p, now, names := DefaultPeriods(), start(), ServiceNames(webhook, orcon)
	signer := root(t, now)
	data, err := signer.NewLeaf(names, now, p)
	require.NoError(t, err)
	pair, err := leafOf(&corev1.Secret{Data: data})
	require.NoError(t, err)
	tests := map[string]struct {
		why    string
		signer *Root
		names  []string
		now    time.Time
		want   time.Duration
	}{
		"Fresh":   {why: "two thirds of its life", signer: signer, names: names, now: now, want: p.Leaf * 2 / 3},
		"Third":   {why: "an outage of a third of its life begins at worst now", signer: signer, names: names, now: now.Add(p.Leaf * 2 / 3)},
		"Expired": {why: "after a longer one", signer: signer, names: names, now: now.Add(2 * p.Leaf)},
		"Renamed": {why: "the Service has another name", signer: signer, names: names[:1], now: now},
		"Signer":  {why: "the authority was replaced", signer: root(t, now), names: names, now: now},
		"Future":  {why: "the clock was wrong", signer: signer, names: names, now: now.Add(-time.Hour)},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			assert.InDelta(t, tc.want, tc.signer.due(pair, tc.names, tc.now, p), float64(time.Second), tc.why)
		})
	}
}

// leaf returns the webhook's pair, as it is stored.
func (r *rig) leaf() *tls.Certificate {
	secret, err := readSecret(r.t.Context(), r.client, orcon, LeafName)
	require.NoError(r.t, err)
	pair, err := leafOf(secret)
	require.NoError(r.t, err)
	return pair
}

// The rotator keeps the webhook's certificate: it is trusted by the API server, and is made again when it is lost
// (TRUST.md R1, INJECTION.md I10).
func TestRotatorSignsForTheWebhook(t *testing.T) {
	p := DefaultPeriods()
	r := newRig(t, configuration())
	r.leafNames = ServiceNames(webhook, orcon)
	assert.InDelta(t, p.Leaf*2/3, r.settle(), float64(time.Second))
	first := r.leaf()
	require.NoError(t, verify(first, []byte(r.caBundles()[0]), r.leafNames[0], r.now))
	secret, err := readSecret(t.Context(), r.client, orcon, LeafName)
	require.NoError(t, err)
	assert.Equal(t, map[string]bool{"tls.crt": true, "tls.key": true}, hasKeys(secret), "no key that it does not serve with")

	r.now = r.now.Add(p.Leaf / 3)
	r.settle()
	assert.True(t, samePair(first, r.leaf()), "nothing is due")
	r.now = r.now.Add(p.Leaf / 3)
	r.settle()
	assert.False(t, samePair(first, r.leaf()))

	require.NoError(t, r.client.CoreV1().Secrets(orcon).Delete(t.Context(), LeafName, metav1.DeleteOptions{}))
	r.settle()
	require.NoError(t, verify(r.leaf(), []byte(r.caBundles()[0]), r.leafNames[0], r.now))
}

// Whenever an outage of the controller begins that is shorter than a third of the leaf's life, the webhook has a valid
// leaf when it ends (TRUST.md R1).
func TestLeafOutlivesAnOutage(t *testing.T) {
	p := DefaultPeriods()
	r := newRig(t, configuration())
	r.leafNames = ServiceNames(webhook, orcon)
	for until := r.now.Add(2 * p.Leaf); r.now.Before(until); r.now = r.now.Add(p.Leaf / 10) {
		r.settle()
		after := r.now.Add(p.Leaf/3 - time.Minute)
		require.NoError(t, verify(r.leaf(), []byte(r.caBundles()[0]), r.leafNames[0], after), "an outage that begins at %s", r.now)
	}
}

// An authority that the API server does not trust signs nothing: what is served stays trusted.
func TestUntrustedAuthoritySignsNothing(t *testing.T) {
	r := newRig(t, configuration())
	r.settle()
	r.leafNames = ServiceNames(webhook, orcon)
	c, err := r.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), webhook, metav1.GetOptions{})
	require.NoError(t, err)
	c.Webhooks[0].ClientConfig.CABundle, c.Webhooks[1].ClientConfig.CABundle = nil, nil
	_, err = r.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Update(t.Context(), c, metav1.UpdateOptions{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	wait, err := r.rotator(ctx).pass(ctx)
	cancel()
	require.NoError(t, err)
	assert.Equal(t, soon, wait)
	secret, err := readSecret(t.Context(), r.client, orcon, LeafName)
	require.NoError(t, err)
	assert.Nil(t, secret, "it has published the bundle, and signs when it sees it")
	r.settle()
	require.NoError(t, verify(r.leaf(), []byte(r.caBundles()[0]), r.leafNames[0], r.now))
}

// The webhook serves the last good pair, whatever becomes of the Secret, and waits for the first.
func TestServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		secrets := r.client.CoreV1().Secrets(orcon)
		s := NewServed(r.client, orcon)
		go func() { assert.NoError(t, s.Start(t.Context())) }()
		synctest.Wait()
		_, err := s.GetCertificate(nil)
		require.ErrorIs(t, err, ErrNoCertificate)

		secret, err := createSecret(t.Context(), r.client, orcon, LeafName)
		require.NoError(t, err)
		synctest.Wait()
		_, err = s.GetCertificate(nil)
		require.ErrorIs(t, err, ErrNoCertificate, "the rotator was interrupted")

		write := func() *tls.Certificate {
			secret.Data, err = root(t, r.now).NewLeaf(ServiceNames(webhook, orcon), r.now, DefaultPeriods())
			require.NoError(t, err)
			secret, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
			require.NoError(t, err)
			synctest.Wait()
			return r.leaf()
		}
		serves := func(want *tls.Certificate, why string) {
			pair, err := s.GetCertificate(nil)
			require.NoError(t, err)
			assert.True(t, samePair(want, pair), why)
		}
		serves(write(), "the first")
		last := write()
		serves(last, "a renewed one")
		secret.Data[corev1.TLSPrivateKeyKey] = []byte("?")
		secret, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
		require.NoError(t, err)
		synctest.Wait()
		serves(last, "a pair that does not fit")
		require.NoError(t, secrets.Delete(t.Context(), LeafName, metav1.DeleteOptions{}))
		synctest.Wait()
		serves(last, "one that is gone")
	})
}
