package certificates

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// issuance is what the cert-manager variant of the manifests asks for.
const issuance = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: selfsigned, namespace: NAMESPACE}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: orcon-authority, namespace: NAMESPACE}
spec:
  isCA: true
  commonName: orcon
  secretName: orcon-authority
  privateKey: {algorithm: ECDSA, size: 256}
  issuerRef: {name: selfsigned}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: orcon, namespace: NAMESPACE}
spec: {ca: {secretName: orcon-authority}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: webhook, namespace: NAMESPACE}
spec:
  secretName: webhook-tls
  dnsNames: [webhook.NAMESPACE.svc]
  privateKey: {algorithm: ECDSA, size: 256}
  issuerRef: {name: orcon}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: NAMESPACE
  annotations: {cert-manager.io/inject-ca-from: NAMESPACE/webhook}
webhooks:
- name: pods.test.tengu.io
  clientConfig: {service: {name: webhook, namespace: NAMESPACE}}
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
`

// DESIGN.md decision 8, first half: with cert-manager's real controllers, the
// pair from files verifies against the injected caBundle and against the
// published trust.
func TestCertManager(t *testing.T) {
	w := newCertificateWorld(t)
	cluster := controlplane.Shared(t)
	certManager(t, cluster)
	namespace := w.name("system")
	manifest := filepath.Join(t.TempDir(), "issuance.yaml")
	require.NoError(t, os.WriteFile(manifest, []byte(strings.ReplaceAll(issuance, "NAMESPACE", namespace)), 0o600))
	began := time.Now()
	cluster.Kubectl(t, "apply", "-f", manifest)
	t.Cleanup(func() { cluster.Kubectl(t, "delete", "-f", manifest, "--wait=false") })

	var secret *corev1.Secret
	w.eventually("the leaf is issued", func() (err error) {
		secret, err = w.admin.CoreV1().Secrets(namespace).Get(w.ctx, "webhook-tls", metav1.GetOptions{})
		return err
	})
	t.Logf("issued after %s", time.Since(began).Round(time.Millisecond))
	dir := t.TempDir()
	for key, text := range secret.Data {
		require.NoError(t, os.WriteFile(filepath.Join(dir, key), text, 0o600))
	}
	source, err := certificate.NewFiles(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	require.NoError(t, err)
	live := certificate.NewLiveWebhook(w.admin, namespace)
	trust := certificate.NewLiveTrust(w.admin, w.name("opted-1"))
	publisher, err := certificate.NewTrustFile(certificate.TrustFileOptions{
		Client: w.client(w.as("controller")), Namespace: namespace,
		Namespaces: fixed{w.name("opted-1")}, File: filepath.Join(dir, "ca.crt"),
	})
	require.NoError(t, err)
	for _, part := range []interface {
		Start(ctx context.Context) error
	}{source, live, trust, publisher} {
		w.run(func(ctx context.Context) { assert.NoError(t, part.Start(ctx)) })
	}
	name := "webhook." + namespace + ".svc"
	byWebhook, byTrust := certificate.Verified(source, live, name, nil), certificate.Verified(source, trust, name, nil)
	w.eventually("verified against the injected caBundle", func() error { return byWebhook(nil) })
	w.eventually("verified against the published trust", func() error { return byTrust(nil) })
	t.Logf("verified after %s", time.Since(began).Round(time.Millisecond))
	injected := cluster.Kubectl(t, "get", "mutatingwebhookconfiguration", namespace, "-o", "jsonpath={.webhooks[0].clientConfig.caBundle}")
	assert.Equal(t, base64.StdEncoding.EncodeToString(secret.Data["ca.crt"]), injected)
}

// fixed is a list of namespaces that does not change.
type fixed []string

func (f fixed) Names() ([]string, error) { return f, nil }
func (fixed) Notify(func())              {}

// certManager runs cert-manager's controllers until the test ends.
func certManager(t *testing.T, cluster *controlplane.Cluster) {
	t.Helper()
	root, err := controlplane.Root()
	require.NoError(t, err)
	program := filepath.Join(root, "bin", "certmanager")
	if _, err := os.Stat(program); errors.Is(err, os.ErrNotExist) {
		require.Fail(t, "bin/certmanager is missing: run test/cluster/certmanager/build.sh")
	}
	command := exec.CommandContext(t.Context(), program, "--kubeconfig", cluster.Kubeconfig, "--install-crds")
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = stdin.Close(); _ = command.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
}
