package deployment

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	create = "deployment/webhook-create-signed-cert.sh --service relations-mutating-webhook --secret tengu-controllers-certs --namespace default"
	patch  = "cat deployment/relations-mutating-webhook/webhook-config-templ.yaml | deployment/webhook-patch-ca-bundle.sh"
	cert   = "kubectl -n default get secret tengu-controllers-certs -o jsonpath='{.data.cert\\.pem}'"
)

// The prototype's steps "certificate", "trust" and "deploy", as its users type them
// (PROTOTYPE.md).
func TestPrototypeCommands(t *testing.T) {
	s := newShell(t)
	s.unhook()
	generated := filepath.Join(t.TempDir(), "webhook-config-generated.yaml")
	s.run(create)
	s.run(patch + " > " + generated)
	s.run("kubectl apply -f deployment/rbac.yaml && " + established)
	for _, file := range []string{
		"deployment/relations-mutating-webhook/controller-configmap.yaml", "deployment/relations-mutating-webhook/controller.yaml",
		"deployment/relations-mutating-webhook/service.yaml", generated, "deployment/relations-controller/controller.yaml",
	} {
		s.run("kubectl apply -f " + file)
	}
	s.namespace("k8s-tengu-test", "tengu-injector=enabled")
	s.run("kubectl -n k8s-tengu-test apply -f deployment/demo/external-service.yaml")
	s.run("kubectl -n k8s-tengu-test apply -f deployment/demo/sleep-deployment.yaml")

	// What is trusted is what signed the certificate, for the name that is called.
	s.run(cert + " | base64 -d > " + generated + ".crt && kubectl get mutatingwebhookconfiguration relations-mutating-webhook -o jsonpath='{.webhooks[1].clientConfig.caBundle}' | base64 -d > " + generated + ".ca")
	s.run("openssl verify -verify_hostname relations-mutating-webhook.default.svc -CAfile " + generated + ".ca " + generated + ".crt")
}

func TestCreateCertTwiceIsOnce(t *testing.T) {
	s := newShell(t)
	s.run(create + " --renew")
	first := s.run(cert)
	assert.Contains(t, s.run(create), "nothing to do")
	assert.Equal(t, first, s.run(cert))
	s.run(create + " --renew")
	assert.NotEqual(t, first, s.run(cert), "--renew signs anew")
	assert.Empty(t, s.run("kubectl get certificatesigningrequests -o name"), "nothing is left behind")

	s.run("deployment/webhook-create-signed-cert.sh --service other --secret tengu-controllers-certs --namespace default")
	assert.Contains(t, s.run(create), "asking", "a certificate for another name is not a good one")
}

func TestScriptsNameCauseAndCure(t *testing.T) {
	s := newShell(t)
	s.run("kubectl -n default delete secret tengu-controllers-certs --ignore-not-found")
	other := filepath.Join(t.TempDir(), "other.crt")
	s.run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -out " + other + " -subj /CN=other -days 2")
	assert.Contains(t, s.refused(patch), "make it first", "no Secret yet")
	s.run(create)
	tests := map[string]struct {
		why  string
		line string
		want string
	}{
		"NoSigner":     {why: "most managed clusters", line: create + " --renew --signer example.org/nobody --wait 1", want: "kubectl apply -k deployment/selfsigned"},
		"Refused":      {why: "the signer's own words", line: create + " --renew --signer kubernetes.io/kube-apiserver-client", want: "invalid usage"},
		"NoCluster":    {why: "before anything is made", line: "KUBECONFIG=/none " + create, want: "cannot reach the cluster"},
		"BadFlag":      {why: "a typo is not ignored", line: create + " --servicename x", want: "unknown argument '--servicename'"},
		"NoValue":      {why: "a flag without its value", line: create + " --signer", want: "--signer needs a value"},
		"WrongCA":      {why: "the API server would not trust the webhook", line: patch + " --ca-file " + other, want: "--ca-file"},
		"NoCA":         {why: "an empty file is no authority", line: patch + " --ca-file /dev/null", want: "not a PEM certificate"},
		"NotAConfig":   {why: "the wrong file was piped", line: "echo hello | deployment/webhook-patch-ca-bundle.sh", want: "not a webhook configuration"},
		"WrongSecret":  {why: "another namespace", line: patch + " --namespace kube-system", want: "make it first"},
		"NoSuchCAFile": {why: "a path that is not there", line: patch + " --ca-file /none", want: "cannot read /none"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			assert.Contains(t, s.refused(tc.line), tc.want, tc.why)
		})
	}
}

// Patched twice is patched once, and templates of the prototype's kind work.
func TestPatchCABundle(t *testing.T) {
	s := newShell(t)
	s.run(create)
	once := filepath.Join(t.TempDir(), "once.yaml")
	s.run(patch + " > " + once)
	text, err := os.ReadFile(once)
	require.NoError(t, err)
	assert.Equal(t, string(text), s.run("deployment/webhook-patch-ca-bundle.sh < "+once))
	s.run("kubectl apply --dry-run=server -f " + once)

	old := `printf 'webhooks:\n- name: a\n  clientConfig:\n    service: {name: s}\n    caBundle: ${CA_BUNDLE}\n' | deployment/webhook-patch-ca-bundle.sh`
	out := s.run(old)
	assert.Regexp(t, `(?m)^    caBundle: [A-Za-z0-9+/]+=*$`, out)
	assert.NotContains(t, out, "CA_BUNDLE")
}
