package certificate

import (
	"crypto/x509"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

func TestRotation(t *testing.T) {
	p := DefaultPeriods()
	r := newRig(t, configuration())
	assert.Equal(t, p.Authority*2/3, r.settle(), "nothing to do for two thirds of a life")
	r.requirePublished()
	first := r.state().Current

	r.now = r.now.Add(p.Authority * 2 / 3)
	assert.Equal(t, p.Propagation, r.settle(), "announced, published, waiting for kubelets")
	r.requirePublished()
	assert.True(t, r.state().Current.Certificate.Equal(first.Certificate), "the old one still signs")
	next := r.state().Next
	assert.Len(t, ParseBundle([]byte(r.trust("shop"))), 2)

	r.now = r.now.Add(p.Propagation)
	assert.Equal(t, p.Leaf+p.Skew, r.settle(), "promoted, waiting for leaves to end")
	r.requirePublished()
	assert.True(t, r.state().Current.Certificate.Equal(next.Certificate), "the next one signs")
	assert.Len(t, ParseBundle([]byte(r.trust("shop"))), 2)

	r.now = r.now.Add(p.Leaf + p.Skew)
	r.settle()
	r.requirePublished()
	assert.Equal(t, string(Bundle(next.Certificate)), r.trust("shop"), "one is left")
}

// A rotator may die between any two writes, heard or unheard. The next one
// goes on where it was, and no authority is made that is not needed.
func TestRotatorDiesBetweenAnyTwoWrites(t *testing.T) {
	p := DefaultPeriods()
	moments := []time.Duration{0, p.Authority * 2 / 3, p.Propagation, p.Leaf + p.Skew}
	for writes := range 8 {
		for _, unheard := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d writes, unheard %t", writes, unheard), func(t *testing.T) {
				r := newRig(t, configuration())
				for _, wait := range moments {
					r.now = r.now.Add(wait)
					revive := r.diesAfter(writes, unheard)
					ctx := t.Context()
					if _, err := r.rotator(ctx).pass(ctx); err == nil {
						_, _ = r.rotator(ctx).pass(ctx)
					}
					revive()
					r.settle()
					r.requirePublished()
				}
				s := r.state()
				assert.Nil(t, s.Next)
				assert.Empty(t, s.Old)
				assert.Equal(t, start().Add(p.Authority*2/3+p.Authority), s.Current.Certificate.NotAfter,
					"the authority announced at that time signs")
			})
		}
	}
}

// What the Secret was is not what it is: a lost or broken authority is made
// anew, and who was trusted stays trusted while leaves may be in use.
func TestLostAuthority(t *testing.T) {
	tests := map[string]struct {
		why  string
		lose func(t *testing.T, r *rig)
	}{
		"Deleted": {why: "by a person", lose: func(t *testing.T, r *rig) {
			require.NoError(t, r.client.CoreV1().Secrets(orcon).Delete(t.Context(), SecretName, metav1.DeleteOptions{}))
		}},
		"NoKey": {why: "a backup without keys was restored", lose: func(t *testing.T, r *rig) {
			r.change(t, func(s *corev1.Secret) { s.Data[corev1.TLSPrivateKeyKey] = nil })
		}},
		"Foreign": {why: "the key of another authority", lose: func(t *testing.T, r *rig) {
			_, key, err := root(t, r.now).PEM()
			require.NoError(t, err)
			r.change(t, func(s *corev1.Secret) { s.Data[corev1.TLSPrivateKeyKey] = key })
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, configuration())
			r.settle()
			before := r.state().Current.Certificate
			tc.lose(t, r)
			assert.Equal(t, DefaultPeriods().Leaf+DefaultPeriods().Skew, r.settle())
			r.requirePublished()
			assert.False(t, before.Equal(r.state().Current.Certificate), tc.why)
			assert.True(t, trusts(r.trust("shop"), before), "leaves of the lost one are in use")
		})
	}
}

// Two rotators may both find no Secret: the one that publishes second must not
// take away from the API server whom the first just had it trust.
func TestCreatedAtOnce(t *testing.T) {
	r := newRig(t, configuration())
	revive := r.diesAfter(1, false)
	_, err := r.rotator(t.Context()).pass(t.Context())
	require.ErrorIs(t, err, errDead, "published, and about to write the Secret")
	revive()
	first := ParseBundle([]byte(r.caBundles()[0]))
	require.Len(t, first, 1)
	_, err = r.rotator(t.Context()).pass(t.Context())
	require.NoError(t, err)
	assert.True(t, trusts(r.caBundles()[0], first[0]))
	assert.True(t, trusts(r.caBundles()[0], r.state().Current.Certificate))
}

// change writes the Secret as a person would.
func (r *rig) change(t *testing.T, f func(*corev1.Secret)) {
	t.Helper()
	secret, err := readSecret(t.Context(), r.client, orcon, SecretName)
	require.NoError(t, err)
	f(secret)
	_, err = r.client.CoreV1().Secrets(orcon).Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
}

func trusts(bundle string, c *x509.Certificate) bool {
	for _, known := range ParseBundle([]byte(bundle)) {
		if known.Equal(c) {
			return true
		}
	}
	return false
}

// A moment that somebody removed, or wrote wrongly, makes the rotator wait
// again; it never makes it hurry.
func TestTamperedMoments(t *testing.T) {
	p := DefaultPeriods()
	for _, value := range []string{"", "yesterday"} {
		r := newRig(t, configuration())
		r.settle()
		r.now = r.now.Add(p.Authority * 2 / 3)
		r.settle()
		r.now = r.now.Add(p.Propagation)
		r.change(t, func(s *corev1.Secret) { s.Annotations[annotationPublished] = value })
		assert.Equal(t, p.Propagation, r.settle())
		r.now = r.now.Add(p.Propagation)
		r.settle()
		r.now = r.now.Add(p.Leaf + p.Skew)
		r.change(t, func(s *corev1.Secret) { s.Annotations[annotationPromoted] = value })
		assert.Equal(t, p.Leaf+p.Skew, r.settle())
	}
}

// One namespace whose admission refuses the ConfigMap holds the promotion back
// until the deadline, and no longer.
func TestPlaceThatRefuses(t *testing.T) {
	p := DefaultPeriods()
	r := newRig(t, configuration())
	r.settle()
	r.client.PrependReactor("patch", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return a.GetNamespace() == "blog", nil, apierrors.NewForbidden(corev1.Resource("configmaps"), TrustName, errDead)
	})
	r.now = r.now.Add(p.Authority * 2 / 3)
	for range 5 {
		_, _ = r.rotator(t.Context()).pass(t.Context())
	}
	assert.NotNil(t, r.state().Next)
	assert.Zero(t, r.state().Published, "blog would not trust it")
	assert.Len(t, ParseBundle([]byte(r.trust("shop"))), 2, "one that fails does not hold back the rest")

	r.now = r.now.Add(p.Authority / 6)
	_, _ = r.rotator(t.Context()).pass(t.Context())
	assert.Equal(t, r.now, r.state().Published)
	r.now = r.now.Add(p.Propagation)
	_, _ = r.rotator(t.Context()).pass(t.Context())
	assert.Nil(t, r.state().Next, "promoted")
}

// The end of a namespace is no trouble.
func TestPlaceThatEnds(t *testing.T) {
	r := newRig(t, configuration())
	r.client.PrependReactor("patch", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetNamespace() != "blog" {
			return false, nil, nil
		}
		err := apierrors.NewForbidden(corev1.Resource("configmaps"), TrustName, errDead)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return true, nil, err
	})
	assert.Equal(t, DefaultPeriods().Authority*2/3, r.settle())
}

// Nothing is decided from part of a list.
func TestNamespacesNotKnown(t *testing.T) {
	r := newRig(t, configuration())
	r.namespaces.err = ErrNotSynced
	_, err := r.rotator(t.Context()).pass(t.Context())
	require.ErrorIs(t, err, ErrNotSynced)
	assert.Nil(t, r.state().Current)
}

// SAFETY.md, "An end is never guessed": a namespace that opts out keeps its
// bundle, and keeps it up to date for the pods that run there.
func TestOptedOutKeepsTrust(t *testing.T) {
	p := DefaultPeriods()
	r := newRig(t, configuration())
	r.settle()
	r.namespaces.list = []string{"shop"}
	r.now = r.now.Add(p.Authority * 2 / 3)
	r.settle()
	assert.Equal(t, r.trust("shop"), r.trust("blog"))
	assert.Len(t, ParseBundle([]byte(r.trust("blog"))), 2)
}

// A ConfigMap of that name which Orcon did not make, in a namespace that did
// not opt in, is somebody else's.
func TestForeignConfigMap(t *testing.T) {
	foreign := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: TrustName, Namespace: "elsewhere"},
		Data:       map[string]string{TrustKey: "theirs"},
	}
	r := newRig(t, configuration(), foreign)
	r.settle()
	assert.Equal(t, "theirs", r.trust("elsewhere"))
}

// The webhook configuration may come later, or never.
func TestNoWebhookConfiguration(t *testing.T) {
	r := newRig(t)
	r.settle()
	assert.Equal(t, string(r.state().Bundle()), r.trust(orcon))
	_, err := r.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), configuration(), metav1.CreateOptions{})
	require.NoError(t, err)
	r.settle()
	r.requirePublished()
}

// A settled cluster is read and not written.
func TestSettledWritesNothing(t *testing.T) {
	r := newRig(t, configuration())
	r.settle()
	r.client.ClearActions()
	r.settle()
	for _, a := range r.client.Actions() {
		assert.Contains(t, []string{"get", "list", "watch"}, a.GetVerb())
	}
}

// SAFETY.md S2: no Secret is ever read but by name.
func TestSecretsByNameOnly(t *testing.T) {
	r := newRig(t, configuration())
	r.leafNames = ServiceNames(webhook, orcon)
	r.settle()
	byName := []string{"metadata.name=" + SecretName, "metadata.name=" + LeafName}
	for _, a := range r.client.Actions() {
		if a.GetResource().Resource != "secrets" {
			continue
		}
		assert.Equal(t, orcon, a.GetNamespace())
		switch at := a.(type) {
		case clienttesting.ListActionImpl:
			assert.Contains(t, byName, at.ListOptions.FieldSelector)
		case clienttesting.WatchActionImpl:
			assert.Contains(t, byName, at.ListOptions.FieldSelector)
		}
	}
}

func TestSecretRoundTrip(t *testing.T) {
	now := start()
	a, b, c := root(t, now), root(t, now), root(t, now)
	read := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: SecretName, ResourceVersion: "7", Labels: map[string]string{"theirs": "yes"},
		Annotations: map[string]string{annotationPromoted: "old", "theirs": "yes"},
	}}
	s := State{Current: a, Next: b, Old: []*x509.Certificate{c.Certificate}, Published: now}
	secret, err := ToSecret(s, read)
	require.NoError(t, err)
	assert.Equal(t, "7", secret.ResourceVersion, "SAFETY.md D11")
	assert.Equal(t, "yes", secret.Labels["theirs"])
	assert.Equal(t, "yes", secret.Annotations["theirs"])
	assert.NotContains(t, secret.Annotations, annotationPromoted)
	assert.Equal(t, map[string]bool{"tls.crt": true, "tls.key": true, "ca.next.crt": true, "ca.next.key": true, "ca.old.crt": true}, hasKeys(secret))
	assert.Equal(t, s, FromSecret(secret))
}
