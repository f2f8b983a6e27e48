package certificate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate/revocation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// An authority that is revoked signs no more and is in no bundle from then on, also if another one waited to follow it;
// one that retires or is lost stays trusted while its leaves live (TRUST.md R6).
func TestRevocation(t *testing.T) {
	p := DefaultPeriods()
	r := newRig(t, configuration(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", Labels: map[string]string{application.KeyInjected: "true"},
	}}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "elsewhere", Name: "web", Labels: map[string]string{application.KeyInjected: "true"},
	}})
	r.settle()
	r.now = r.now.Add(p.Authority * 2 / 3)
	r.settle()
	before := r.state()
	require.NotNil(t, before.Next, "another authority is announced")

	work := revocation.Work{Client: r.client, Namespace: orcon}
	affected, err := work.Affected(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []revocation.Agents{{Namespace: "elsewhere", Pods: 1}, {Namespace: "shop", Pods: 1, Published: true}}, affected)
	require.NoError(t, work.Revoke(t.Context()))
	left, err := work.Left(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"Secret orcon-system/orcon-ca has no other authority yet"}, left)

	r.settle()
	r.requirePublished()
	after := r.state()
	for _, old := range []*Root{before.Current, before.Next} {
		assert.False(t, after.Current.Certificate.Equal(old.Certificate))
		assert.NotContains(t, r.trust("shop"), string(Bundle(old.Certificate)))
		assert.NotContains(t, r.caBundles()[0], string(Bundle(old.Certificate)))
	}
	assert.Len(t, ParseBundle([]byte(r.trust("shop"))), 1)
	left, err = work.Left(t.Context())
	require.NoError(t, err)
	assert.Empty(t, left)

	r.now = r.now.Add(p.Authority * 2 / 3)
	r.settle()
	assert.NotNil(t, r.state().Next, "rotation goes on")
	require.NoError(t, r.client.CoreV1().Secrets(orcon).Delete(t.Context(), SecretName, metav1.DeleteOptions{}))
	r.settle()
	r.requirePublished()
	assert.Contains(t, r.trust("shop"), string(Bundle(after.Current.Certificate)), "one that is lost is trusted")
}

// A Secret that still has revoked authorities when a further one is revoked names all of them.
func TestRevocationAgain(t *testing.T) {
	r := newRig(t, configuration())
	work := revocation.Work{Client: r.client, Namespace: orcon}
	require.ErrorContains(t, work.Revoke(t.Context()), "does not exist: with cert-manager, Orcon has no authority of its own")
	r.settle()
	first := r.state().Current
	require.NoError(t, work.Revoke(t.Context()))
	r.settle()
	second := r.state().Current
	require.NoError(t, work.Revoke(t.Context()))
	r.settle()
	secret, err := readSecret(t.Context(), r.client, orcon, SecretName)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{revocation.Fingerprint(first.Certificate), revocation.Fingerprint(second.Certificate)}, revocation.In(secret))
	r.requirePublished()
}
