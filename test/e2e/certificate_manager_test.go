package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/test/docs"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// builtin:certmanager with cert-manager's own controllers: the authority's
// certificate and both servers' are renewed, the servers' keys too, while pods
// are admitted without a pause (INJECTION.md I10, DESIGN.md decision 8).
func rotateCertManager(t *testing.T, c *controlplane.Cluster) {
	runCertManager(t, c)
	installs(t, c, "certmanager")
	w := newWorld(t, c)
	consumer := w.consumer()
	first := w.leaves()
	pods := w.admit()

	// cert-manager now and then issues an authority again whose Secret is new: its cache lacks the Secret after the
	// first time. The servers' certificates stay those of the first.
	w.renew("orcon-authority")
	old := w.webhooks()[0].ClientConfig.CABundle
	w.renew("orcon-authority")
	authority := w.secret("orcon-authority").Data["tls.crt"]
	for _, name := range []string{webhookName, controllerName} {
		w.eventually(func() string {
			w.renew(name)
			if have := serials(w.issuerOf(name)); have != serials(authority) {
				return name + " is signed by " + have // cert-manager has not seen its new authority yet
			}
			return ""
		})
	}
	w.trusts(slices.Concat(old, authority), authority) // cert-manager keeps the old one until it expires
	w.eventually(func() string {
		for replica, leaf := range w.leaves() {
			if leaf.Equal(first[replica]) {
				return replica + " shows its first certificate"
			}
		}
		return ""
	})
	w.restart(webhookName) // so that connections are made anew
	pods.none()
	w.stillServed(consumer)
	w.revokesCertManager()
}

// revokesCertManager runs the commands of the page about certificates that revoke an authority of cert-manager: neither
// agents nor the API server trust the earlier one then, and pods are admitted without a pause (TRUST.md R6).
func (w *world) revokesCertManager() {
	w.t.Helper()
	pages, err := docs.Pages(repository(w.t))
	require.NoError(w.t, err)
	at := slices.IndexFunc(pages, func(p docs.Page) bool { return p.File == "docs/explanation/certificates.md" })
	require.GreaterOrEqual(w.t, at, 0)
	page := pages[at]
	page.Blocks = slices.Clone(page.Blocks)
	for i := range page.Blocks {
		page.Blocks[i].Test = ""
	}
	before := w.issuerOf(webhookName)
	pods := w.admit()
	docs.Runner{
		Root: repository(w.t), Programs: []string{filepath.Join(w.Programs, "kubectl")},
		Env: []string{"KUBECONFIG=" + w.Kubeconfig}, Patience: patience,
	}.Run(w.t, page)
	for _, name := range []string{webhookName, controllerName} {
		require.NotEqual(w.t, serials(before), serials(w.issuerOf(name)), name)
	}
	w.trusts(w.issuerOf(webhookName), w.issuerOf(controllerName))
	pods.none()
}

// issuerOf returns the authority that signed a server's certificate.
func (w *world) issuerOf(name string) []byte {
	w.t.Helper()
	return w.secret(name + "-tls").Data["ca.crt"]
}

// runCertManager runs cert-manager's controllers until the test ends.
func runCertManager(t *testing.T, c *controlplane.Cluster) {
	t.Helper()
	program := filepath.Join(repository(t), "bin", "certmanager")
	require.FileExists(t, program, "build it: test/cluster/certmanager/build.sh")
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	cmd := exec.Command(program, "--install-crds", "--kubeconfig", c.Kubeconfig) // it ends with its standard input
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		assert.NoError(t, cmd.Wait())
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("cert-manager's log\n%s", text[max(0, len(text)-1<<14):])
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
}

// renew asks cert-manager for a certificate, as "cmctl renew" does, and waits
// until it is there.
func (w *world) renew(name string) {
	w.t.Helper()
	var before []byte
	var secretName string
	w.eventually(func() string {
		var wanted unstructured.Unstructured
		wanted.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"})
		require.NoError(w.t, w.objects.Get(w.t.Context(), client.ObjectKey{Namespace: system, Name: name}, &wanted))
		var err error
		secretName, _, err = unstructured.NestedString(wanted.Object, "spec", "secretName")
		require.NoError(w.t, err)
		before = w.secret(secretName).Data["tls.crt"]
		if !trigger(w.t, &wanted) {
			return "certificate " + name + " is still being issued"
		}
		if err := w.objects.Status().Update(w.t.Context(), &wanted); !apierrors.IsConflict(err) {
			require.NoError(w.t, err)
			return ""
		}
		return "cert-manager writes the status of certificate " + name
	})
	w.eventually(func() string {
		if string(w.secret(secretName).Data["tls.crt"]) != string(before) {
			return ""
		}
		return "certificate " + name + " is the same"
	})
}

// trigger sets the condition by which a certificate is issued, unless it is being issued.
func trigger(t *testing.T, certificate *unstructured.Unstructured) bool {
	t.Helper()
	conditions, _, err := unstructured.NestedSlice(certificate.Object, "status", "conditions")
	require.NoError(t, err)
	issuing := func(c any) bool {
		of, ok := c.(map[string]any)
		return ok && of["type"] == "Issuing"
	}
	if i := slices.IndexFunc(conditions, issuing); i >= 0 {
		if of, ok := conditions[i].(map[string]any); ok && of["status"] == "True" {
			return false
		}
	}
	conditions = append(slices.DeleteFunc(conditions, issuing), map[string]any{
		"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "renewed by hand",
		"lastTransitionTime": metav1.Now().UTC().Format(time.RFC3339), "observedGeneration": certificate.GetGeneration(),
	})
	require.NoError(t, unstructured.SetNestedSlice(certificate.Object, conditions, "status", "conditions"))
	return true
}

// secret returns a Secret of Orcon's namespace.
func (w *world) secret(name string) *corev1.Secret {
	w.t.Helper()
	secret, err := w.client.CoreV1().Secrets(system).Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return secret
}
