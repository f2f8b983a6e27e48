package webhook

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
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// webhookWorld is the real webhook, a process of its own as on a developer's
// machine, and the real API server that asks it, by the manifest that users
// apply.
type webhookWorld struct {
	t       *testing.T
	cluster *controlplane.Cluster
	admin   kubernetes.Interface
	prefix  string
	command *exec.Cmd
	port    int
	config  string
	ca      *x509.CertPool
}

func newWebhookWorld(t *testing.T) *webhookWorld {
	t.Helper()
	w := &webhookWorld{t: t, cluster: controlplane.Shared(t), port: controlplane.FreePort(t)}
	w.admin, w.prefix = w.cluster.Client(t), w.cluster.NewNamespace(t, "webhook-")
	w.namespace("system", nil)
	dir := t.TempDir()
	bundle := w.certificate(dir)
	binary := controlplane.Binary(t, "relations-mutating-webhook")
	root, err := controlplane.Root()
	require.NoError(t, err)
	w.config = filepath.Join(dir, "tenguconfig.yaml")
	require.NoError(t, os.WriteFile(w.config, []byte("agent: {image: 'agent:test'}\n"), 0o600))
	w.register(root, bundle)
	w.cluster.Kubectl(t, "apply", "-k", filepath.Join(root, "deployment", "crd"))
	w.cluster.Established(t)
	w.start(dir, binary)
	return w
}

// namespace makes a namespace called after the world.
func (w *webhookWorld) namespace(name string, labels map[string]string) string {
	w.t.Helper()
	full := w.prefix + "-" + name
	_, err := w.admin.CoreV1().Namespaces().Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: full, Labels: labels}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	_, err = w.admin.CoreV1().ServiceAccounts(full).Create(w.t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	if err != nil {
		require.ErrorContains(w.t, err, "already exists")
	}
	return full
}

// certificate writes a pair of files and returns whom to trust for it.
func (w *webhookWorld) certificate(dir string) []byte {
	w.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(w.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "webhook"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.ParseIP(w.cluster.HostAddress), net.ParseIP("127.0.0.1")},
		DNSNames:    []string{"relations-mutating-webhook." + w.prefix + "-system.svc"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(w.t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(w.t, err)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, "cert.pem"), bundle, 0o600))
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	w.ca = x509.NewCertPool()
	w.ca.AppendCertsFromPEM(bundle)
	return bundle
}

// register tells the API server of the webhook with the manifest of the
// prototype's way, for this world's namespaces alone.
func (w *webhookWorld) register(root string, bundle []byte) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deployment", "relations-mutating-webhook", "webhook-config-templ.yaml"))
	require.NoError(w.t, err)
	var c registrationv1.MutatingWebhookConfiguration
	require.NoError(w.t, yaml.UnmarshalStrict(text, &c))
	c.Name = w.prefix
	for i := range c.Webhooks {
		hook := &c.Webhooks[i]
		url := fmt.Sprintf("https://%s%s", net.JoinHostPort(w.cluster.HostAddress, fmt.Sprint(w.port)), *hook.ClientConfig.Service.Path)
		hook.ClientConfig = registrationv1.WebhookClientConfig{URL: &url, CABundle: bundle}
		if hook.NamespaceSelector == nil {
			hook.NamespaceSelector = &metav1.LabelSelector{}
		}
		hook.NamespaceSelector.MatchExpressions = append(hook.NamespaceSelector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: "world", Operator: metav1.LabelSelectorOpIn, Values: []string{w.prefix}})
		// Nobody may be let through because the webhook is slow in a test.
		fail := registrationv1.Fail
		hook.FailurePolicy = &fail
	}
	hooks := w.admin.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err = hooks.Create(w.t.Context(), &c, metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		_ = hooks.Delete(context.WithoutCancel(w.t.Context()), c.Name, metav1.DeleteOptions{})
	})
}

// start runs the binary and waits until it is ready.
func (w *webhookWorld) start(dir, binary string) {
	w.t.Helper()
	health := controlplane.FreePort(w.t)
	w.command = exec.CommandContext(w.t.Context(), binary,
		"-kubeconfig="+w.cluster.Kubeconfig, "-namespace="+w.prefix+"-system", "-tenguCfgFile="+w.config,
		"-tlsCertFile="+filepath.Join(dir, "cert.pem"), "-tlsKeyFile="+filepath.Join(dir, "key.pem"),
		"-webhookConfiguration="+w.prefix, fmt.Sprintf("-port=%d", w.port), fmt.Sprintf("-healthPort=%d", health), "-alsologtostderr", "-v=4")
	log := &strings.Builder{}
	w.command.Stderr = log
	require.NoError(w.t, w.command.Start())
	w.t.Cleanup(func() {
		_ = w.command.Process.Signal(syscall.SIGTERM)
		_ = w.command.Wait()
		if w.t.Failed() {
			w.t.Log(log.String())
		}
	})
	controlplane.Eventually(w.t, func() bool {
		response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/readyz", health))
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, 30*time.Second, "the webhook is not ready")
}

// optedIn makes a namespace that this world's webhook serves.
func (w *webhookWorld) optedIn(name string, more ...string) string {
	labels := map[string]string{"tengu-injector": "enabled", "world": w.prefix}
	for i := 0; i+1 < len(more); i += 2 {
		labels[more[i]] = more[i+1]
	}
	return w.namespace(name, labels)
}

// dial opens a connection to the webhook as the API server does.
func (w *webhookWorld) dial() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: w.ca, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, ExpectContinueTimeout: time.Minute,
	}}
}
