package e2e

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// system is Orcon's namespace of the recommended manifests.
const system = "orcon-system"

// The authority of deployment/selfsigned is replaced in all its steps while pods
// are admitted without a pause. What would take months is brought about by the
// Secret alone, which is all that the rotation goes by: the authority in it gets
// old, and its waits begin in the past (INJECTION.md I10, DESIGN.md decision 8).
func rotateSelfSigned(t *testing.T, c *controlplane.Cluster) {
	w := newWorld(t, c)
	consumer := w.consumer()
	first := w.authority()
	pods := w.admit()

	w.changeAuthority(w.grownOld)
	announced := w.authorityUntil("announced", func(s certificate.State) bool { return s.Next != nil && !s.Published.IsZero() })
	assert.Equal(t, first.Current.Key, announced.Current.Key, "the old one still signs")
	w.trusts(announced.Bundle(), announced.Bundle())
	w.signedBy(announced.Current)

	w.changeAuthority(func(s *certificate.State) { s.Published = s.Published.Add(-certificate.DefaultPeriods().Propagation) })
	promoted := w.authorityUntil("promoted", func(s certificate.State) bool { return s.Next == nil && !s.Promoted.IsZero() })
	assert.Equal(t, announced.Next.Certificate, promoted.Current.Certificate)
	w.signedBy(promoted.Current)
	w.trusts(announced.Bundle(), announced.Bundle())
	w.restart(webhookName) // so that connections are made anew, to old replicas and new ones

	w.changeAuthority(func(s *certificate.State) { s.Promoted = s.Promoted.Add(-2 * certificate.DefaultPeriods().Leaf) })
	last := w.authorityUntil("alone", func(s certificate.State) bool { return len(s.Old) == 0 })
	w.trusts(last.Bundle(), last.Bundle())
	pods.none()

	assert.NotEqual(t, first.Current.Key, last.Current.Key)
	w.stillServed(consumer)
}

// consumer returns the pod of a consumer that has its data.
func (w *world) consumer() corev1.Pod {
	w.t.Helper()
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	w.apply(sleeper("Deployment", "consumer", consumesDB))
	return w.running("consumer", 1)[0]
}

// stillServed asserts that agents that were injected before and after trust the
// controllers, which are all new: each agent connects anew.
func (w *world) stillServed(before corev1.Pod) {
	w.t.Helper()
	w.restart(controllerName)
	w.apply(external("db-endpoint", "db", "db2.tengu.io"))
	w.reads("db2.tengu.io", before.Name, "/bindings/db/host")
	w.apply(sleeper("Deployment", "after", consumesDB))
	after := w.running("after", 1)[0]
	assert.Equal(w.t, "db2.tengu.io", w.sh(after.Name, "cat /bindings/db/host"))
	now := w.running("consumer", 1)[0]
	assert.Equal(w.t, before.UID, now.UID)
	assert.Zero(w.t, agentStatus(&now).RestartCount, "nothing was restarted for it")
}

// in is another namespace of the same cluster.
func (w *world) in(namespace string) *world {
	other := *w
	other.namespace = namespace
	return &other
}

// authority returns what Secret orcon-ca says.
func (w *world) authority() certificate.State {
	w.t.Helper()
	return certificate.FromSecret(w.secret(certificate.SecretName))
}

// authorityUntil waits until the Secret says what fits.
func (w *world) authorityUntil(what string, fits func(certificate.State) bool) certificate.State {
	w.t.Helper()
	var state certificate.State
	w.eventually(func() string {
		if state = w.authority(); fits(state) {
			return ""
		}
		return "the authority is not " + what
	})
	return state
}

// changeAuthority writes the Secret.
func (w *world) changeAuthority(change func(*certificate.State)) {
	w.t.Helper()
	read := w.secret(certificate.SecretName)
	state := certificate.FromSecret(read)
	change(&state)
	secret, err := certificate.ToSecret(state, read)
	require.NoError(w.t, err)
	_, err = w.client.CoreV1().Secrets(system).Update(w.t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

// grownOld gives the authority a certificate of less than a third of its
// lifetime, for the same key: what it signed stays trusted.
func (w *world) grownOld(s *certificate.State) {
	w.t.Helper()
	template := *s.Current.Certificate
	template.SerialNumber = new(big.Int).Add(template.SerialNumber, big.NewInt(1))
	template.NotAfter = time.Now().Add(certificate.DefaultPeriods().Authority / 4)
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, s.Current.Key.Public(), s.Current.Key)
	require.NoError(w.t, err)
	old, err := x509.ParseCertificate(der)
	require.NoError(w.t, err)
	s.Current = &certificate.Root{Certificate: old, Key: s.Current.Key}
}

// trusts waits until the API server is told to trust server, and agents agent.
func (w *world) trusts(server, agent []byte) {
	w.t.Helper()
	w.eventually(func() string {
		for _, hook := range w.webhooks() {
			if have := serials(hook.ClientConfig.CABundle); have != serials(server) {
				return "for " + hook.Name + " the API server is told to trust " + have + ", not " + serials(server)
			}
		}
		for _, namespace := range []string{system, w.namespace} {
			published, err := w.client.CoreV1().ConfigMaps(namespace).Get(w.t.Context(), "orcon-trust", metav1.GetOptions{})
			require.NoError(w.t, err)
			if have := serials([]byte(published.Data["ca.crt"])); have != serials(agent) {
				return "in " + namespace + " agents are told to trust " + have + ", not " + serials(agent)
			}
		}
		return ""
	})
}

// webhooks returns the webhooks that the API server calls.
func (w *world) webhooks() []registrationv1.MutatingWebhook {
	w.t.Helper()
	configured, err := w.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(w.t.Context(), webhookName, metav1.GetOptions{})
	require.NoError(w.t, err)
	return configured.Webhooks
}

// serials are the numbers of a bundle's certificates, in order of size.
func serials(bundle []byte) string {
	var all []string
	for _, c := range certificate.ParseBundle(bundle) {
		all = append(all, fmt.Sprintf("%040x", c.SerialNumber))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// signedBy waits until every replica shows a leaf that this authority signed.
func (w *world) signedBy(root *certificate.Root) {
	w.t.Helper()
	w.eventually(func() string {
		for replica, leaf := range w.leaves() {
			if err := leaf.CheckSignatureFrom(root.Certificate); err != nil {
				return fmt.Sprintf("%s shows a leaf of %s: %v", replica, leaf.Issuer, err)
			}
		}
		return ""
	})
}

// leaves returns the certificate that each replica shows, by its pod's name.
func (w *world) leaves() map[string]*x509.Certificate {
	w.t.Helper()
	leaves := map[string]*x509.Certificate{}
	for name, port := range map[string]int{webhookName: 10250, controllerName: 8443} {
		for _, pod := range w.in(system).replicas(name) {
			shown := w.Run(w.t, "exec", "--", "openssl", "s_client", "-connect", fmt.Sprintf("%s:%d", pod.Status.PodIP, port), "-servername", name+"."+system+".svc")
			block, _ := pem.Decode([]byte(shown))
			require.NotNil(w.t, block, shown)
			leaf, err := x509.ParseCertificate(block.Bytes)
			require.NoError(w.t, err)
			leaves[pod.Name] = leaf
		}
	}
	require.Len(w.t, leaves, 4, "two replicas of each")
	return leaves
}

// restart replaces all replicas of a Deployment, and waits until the old ones
// are gone.
func (w *world) restart(name string) {
	w.t.Helper()
	of := w.in(system)
	old := of.replicas(name)
	of.kubectl("rollout", "restart", "deployment/"+name)
	of.kubectl("rollout", "status", "deployment/"+name, "--timeout=300s")
	for _, pod := range old {
		of.gone(pod)
	}
}
