package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate/revocation"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// rotations is how many times the authority is replaced in the long test: the second time,
// the one before the old one is gone.
const rotations = 2

// shortPeriods rotate every 96 s. A leaf is renewed after two thirds of its life: a replica on a
// loaded machine has 16 seconds for it.
func shortPeriods() certificate.Periods {
	return certificate.Periods{
		Authority:   144 * time.Second,
		Leaf:        48 * time.Second,
		Propagation: 3 * time.Second,
		Skew:        500 * time.Millisecond,
	}
}

// Pods are created all the time while the authority is replaced, while the
// rotator dies after every write, and while a second one works beside it. No
// admission fails, and nobody who trusts a bundle that is as late as it may be
// meets a certificate that it does not know. INJECTION.md I10.
func TestRotationUnderAdmission(t *testing.T) {
	t.Parallel()
	w := newCertificateWorld(t)
	replicas := w.replicas()
	w.webhook(replicas)
	w.rotatorsThatDie(2)
	for _, r := range replicas {
		w.eventually("replica "+r.name+" is verified", func() error { return r.verified(nil) })
	}
	for _, namespace := range []string{"opted-1", "opted-2"} {
		w.eventually("trusted in "+namespace, func() error { return w.hasTrust(namespace) })
	}

	admissions := w.admissions(4)
	clients := []*tally{w.lateClient("opted-1", replicas[0]), w.lateClient("opted-2", replicas[1])}
	promoted := w.waitForPromotions(rotations)
	w.stop()

	assert.GreaterOrEqual(t, promoted, rotations)
	assert.Empty(t, admissions.failures(), "failed admissions of %d", admissions.count())
	assert.Greater(t, admissions.count(), 100, "the test must have tried")
	for _, c := range clients {
		assert.Empty(t, c.failures(), "failed handshakes of %d", c.count())
		assert.Greater(t, c.count(), 20, "the test must have tried")
	}
	for _, r := range replicas {
		assert.Greater(t, len(r.issuers()), rotations, "leaves of every authority were shown")
	}
	t.Logf("%d admissions, %d and %d handshakes, %d promotions, authorities shown %d and %d", admissions.count(),
		clients[0].count(), clients[1].count(), promoted, len(replicas[0].issuers()), len(replicas[1].issuers()))
}

// A namespace that opts in has the bundle at once, one that opts out keeps it
// up to date for the pods that run there, and one that loses it gets it back.
func TestTrustIsPublished(t *testing.T) {
	w := newCertificateWorld(t)
	w.rotator(w.ctx, w.as("controller"))
	w.eventually("published", func() error { return w.hasTrust("opted-1") })

	late := w.namespace("late", true)
	began := time.Now()
	w.eventually("a new namespace has it", func() error { return w.hasTrust(late) })
	t.Logf("a new namespace has the bundle after %s", time.Since(began).Round(time.Millisecond))

	maps := w.admin.CoreV1().ConfigMaps(w.name("opted-1"))
	require.NoError(t, maps.Delete(w.ctx, certificate.TrustName, metav1.DeleteOptions{}))
	w.eventually("a deleted one comes back", func() error { return w.hasTrust("opted-1") })

	_, err := w.admin.CoreV1().Namespaces().Apply(w.ctx, w.namespaceLabels("opted-2", false), forcedByTest())
	require.NoError(t, err)
	require.NoError(t, w.admin.CoreV1().Secrets(w.name("system")).Delete(w.ctx, certificate.SecretName, metav1.DeleteOptions{}))
	w.eventually("a new authority is trusted where somebody opted out", func() error { return w.hasTrust("opted-2") })
}

// An authority that is revoked is in no bundle any more, and the servers show certificates of another one, without a
// restart (TRUST.md R6).
func TestAuthorityIsRevoked(t *testing.T) {
	w := newCertificateWorld(t)
	replicas := w.replicas()
	w.webhook(replicas)
	w.rotator(w.ctx, w.as("controller"))
	for _, r := range replicas {
		w.eventually("replica "+r.name+" is verified", func() error { return r.verified(nil) })
	}
	w.eventually("trusted", func() error { return w.hasTrust("opted-1") })
	before := w.trust("opted-1")
	work := revocation.Work{Client: w.admin, Namespace: w.name("system")}
	require.NoError(t, work.Revoke(w.ctx))
	began := time.Now()
	w.eventually("nothing trusts it", func() error {
		left, err := work.Left(w.ctx)
		if len(left) > 0 {
			return errors.New(left[0])
		}
		return err
	})
	after := w.trust("opted-1")
	assert.NotContains(t, string(after), string(before))
	for _, r := range replicas {
		w.eventually("replica "+r.name+" has another certificate", func() error { return dial(w.ctx, r.address, after) })
		require.ErrorContains(t, dial(w.ctx, r.address, before), "unknown authority")
	}
	t.Logf("another authority serves after %s", time.Since(began).Round(time.Millisecond))
	for _, r := range replicas {
		w.eventually("the API server trusts replica "+r.name, func() error { return r.verified(nil) })
	}
}

// The end of a namespace keeps nobody waiting.
func TestNamespaceThatEnds(t *testing.T) {
	t.Parallel()
	w := newCertificateWorldIn(t, controlplane.Start(t))
	ending := w.namespace("ending", true)
	w.rotator(w.ctx, w.as("controller"))
	w.eventually("published", func() error { return w.hasTrust(ending) })
	require.NoError(t, w.admin.CoreV1().Namespaces().Delete(w.ctx, w.name(ending), metav1.DeleteOptions{}))
	assert.GreaterOrEqual(t, w.waitForPromotions(1), 1)
}

// lateClient trusts what the ConfigMap of a namespace said a while ago, as a
// pod does whose kubelet has not refreshed it, and dials again and again.
func (w *certificateWorld) lateClient(namespace string, r *replica) *tally {
	out := &tally{}
	w.run(func(ctx context.Context) {
		held := w.trust(namespace)
		every(ctx, shortPeriods().Propagation/2, func() {
			next := w.trust(namespace)
			out.add(dial(ctx, r.address, held))
			held = next
		})
	})
	return out
}

// dial shakes hands with a server, trusting the bundle alone.
func dial(ctx context.Context, address string, bundle []byte) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	dialer := tls.Dialer{
		NetDialer: &net.Dialer{Timeout: 5 * time.Second},
		Config:    &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12},
	}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return connection.Close()
}

// waitForPromotions returns how often another authority began to sign.
func (w *certificateWorld) waitForPromotions(wanted int) int {
	var lock sync.Mutex
	signers := map[string]bool{}
	factory := informers.NewSharedInformerFactoryWithOptions(w.admin, 0, informers.WithNamespace(w.name("system")))
	enough := make(chan struct{})
	_, err := factory.Core().V1().Secrets().Informer().AddEventHandler(onChange(func(obj any) {
		secret, ok := obj.(*corev1.Secret)
		if !ok || secret.Name != certificate.SecretName {
			return
		}
		lock.Lock()
		defer lock.Unlock()
		signers[string(secret.Data[corev1.TLSCertKey])] = true
		if len(signers) == wanted+1 && len(secret.Data["ca.old.crt"]) == 0 {
			close(enough)
			signers["done"] = true
		}
	}))
	require.NoError(w.t, err)
	w.run(func(ctx context.Context) { factory.StartWithContext(ctx); factory.Shutdown() })
	select {
	case <-enough:
	case <-time.After(time.Duration(wanted+1) * shortPeriods().Authority):
	}
	lock.Lock()
	defer lock.Unlock()
	delete(signers, "done")
	return len(signers) - 1
}

// hasTrust fails unless the namespace trusts the authority that signs now.
func (w *certificateWorld) hasTrust(namespace string) error {
	secret, err := w.admin.CoreV1().Secrets(w.name("system")).Get(w.ctx, certificate.SecretName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !strings.Contains(string(w.trust(namespace)), string(secret.Data[corev1.TLSCertKey])) {
		return errors.New("the bundle lacks the authority")
	}
	return nil
}

// trust returns the bundle of a namespace.
func (w *certificateWorld) trust(namespace string) []byte {
	c, err := w.admin.CoreV1().ConfigMaps(w.name(namespace)).Get(w.ctx, certificate.TrustName, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return []byte(c.Data[certificate.TrustKey])
}
