package bench

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// pair is a certificate for 127.0.0.1, httptest's, which is its own authority.
func pair() (shown tls.Certificate, trust []byte) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return s.TLS.Certificates[0], pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// webhook is the webhook as it ships, with the files of its Deployment.
type webhook struct {
	*process
	url   string
	trust *x509.CertPool
}

// webhook starts one replica; nobody asks it yet.
func (w *world) webhook() *webhook {
	w.Helper()
	shown, trust := pair()
	key, err := x509.MarshalPKCS8PrivateKey(shown.PrivateKey)
	require.NoError(w, err)
	var config corev1.ConfigMap
	w.manifest("controller-configmap.yaml", &config)
	dir := w.TempDir()
	for name, content := range map[string][]byte{
		"cert.pem": trust, "key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		"tenguconfig.yaml": []byte(config.Data["tenguconfig.yaml"]),
	} {
		require.NoError(w, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	// The bundle that every injected agent gets, which makes the patch longer.
	_, err = w.admin.CoreV1().ConfigMaps(system).Create(w.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: certificate.TrustName}, Data: map[string]string{certificate.TrustKey: string(trust)},
	}, metav1.CreateOptions{})
	require.NoError(w, err)
	port := freePort(w.B)
	w.Setenv("ORCON_AGENT_IMAGE", "localhost/orcon/relation-agent:dev")
	hook := &webhook{url: "https://127.0.0.1:" + port + "/mutate", trust: x509.NewCertPool()}
	require.True(w, hook.trust.AppendCertsFromPEM(trust))
	hook.process = w.run("relations-mutating-webhook",
		"-tenguCfgFile="+filepath.Join(dir, "tenguconfig.yaml"), "-tlsCertFile="+filepath.Join(dir, "cert.pem"), "-tlsKeyFile="+filepath.Join(dir, "key.pem"),
		"-webhookConfiguration=", "-port="+port)
	return hook
}

// manifest reads a file of the webhook's deployment.
func (w *world) manifest(name string, into any) {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.root, "deployment", "relations-mutating-webhook", name))
	require.NoError(w, err)
	require.NoError(w, yaml.UnmarshalStrict(text, into))
}

// register has the API server ask at url about pods of namespaces whose opt-in
// label has a value, and by all else that deployment/ says.
func (w *world) register(value, url string) {
	w.Helper()
	_, trust := pair()
	var c registrationv1.MutatingWebhookConfiguration
	w.manifest("webhook-config-templ.yaml", &c)
	c.Name = "bench-" + value
	for i := range c.Webhooks {
		hook := &c.Webhooks[i]
		if hook.Name != "pods.relations.tengu.io" {
			continue
		}
		hook.ClientConfig = registrationv1.WebhookClientConfig{URL: &url, CABundle: trust}
		selector := &hook.NamespaceSelector.MatchExpressions[0]
		require.Equal(w, application.LabelOptIn, selector.Key, "the first rule of the manifest's namespace selector")
		selector.Values = []string{value}
		c.Webhooks = []registrationv1.MutatingWebhook{*hook}
		break
	}
	require.Len(w, c.Webhooks, 1, "the manifest's webhook for pods")
	_, err := w.admin.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(w.Context(), &c, metav1.CreateOptions{})
	require.NoError(w, err)
}

// calls is how often the API server has asked about a pod.
func (h *webhook) calls(b *testing.B) float64 {
	b.Helper()
	return h.metric(b, "orcon_injections_total")
}

// asked waits until the API server asks whom was registered before.
func (w *world) asked(seen func() bool) {
	w.Helper()
	require.Eventually(w, seen, patience, 50*time.Millisecond, "the API server does not ask the webhook")
}
