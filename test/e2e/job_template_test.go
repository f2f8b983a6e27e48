package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// imageRegistry is a registry of the host, whose certificate only those trust that are given it. All may pull from it.
type imageRegistry struct {
	host string
	// ca is the certificate.
	ca []byte
	// busybox and runner are images in it, by digest, and another is the runner by another one.
	busybox, runner, another string
}

// The credentials of those who may push.
const (
	pusher         = "orcon"
	pusherPassword = "pushes"
)

// templateRegistry starts a registry that has images, and from which the nodes pull.
func (w *world) templateRegistry() imageRegistry {
	w.t.Helper()
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		pulls := (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.URL.Path != "/v2/"
		if !pulls && (user != pusher || password != pusherPassword) {
			out.Header().Set("WWW-Authenticate", `Basic realm="templates"`)
			out.WriteHeader(http.StatusUnauthorized)
			return
		}
		images.ServeHTTP(out, r)
	}))
	certificate, ca := w.selfSigned()
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Listener = w.listen(server.Listener)
	server.StartTLS()
	w.t.Cleanup(server.Close)
	r := imageRegistry{host: strings.TrimPrefix(server.URL, "https://"), ca: ca}
	for n := range len(w.Nodes) {
		w.pullsFrom(filepath.Join(w.Dir, map[bool]string{true: fmt.Sprintf("n%d", n+1)}[n > 0]), r)
	}
	r.busybox = r.has(w.t, "busybox", nil, server.Client().Transport)
	r.runner = r.has(w.t, "job-runner", nil, server.Client().Transport)
	r.another = r.has(w.t, "job-runner", map[string]string{"version": "another"}, server.Client().Transport)
	return r
}

// listen listens where pods and nodes reach a server of this test.
func (w *world) listen(before net.Listener) net.Listener {
	w.t.Helper()
	require.NoError(w.t, before.Close())
	listener, err := (&net.ListenConfig{}).Listen(w.t.Context(), "tcp", net.JoinHostPort(w.HostAddress, "0"))
	require.NoError(w.t, err)
	return listener
}

// pullsFrom has the engine of a node trust a registry.
func (w *world) pullsFrom(node string, r imageRegistry) {
	w.t.Helper()
	folder := filepath.Join(node, "registries", r.host)
	require.NoError(w.t, os.MkdirAll(folder, 0o755))
	require.NoError(w.t, os.WriteFile(filepath.Join(folder, "ca.crt"), r.ca, 0o644))
	require.NoError(w.t, os.WriteFile(filepath.Join(folder, "hosts.toml"), fmt.Appendf(nil,
		"server = \"https://%s\"\n[host.\"https://%[1]s\"]\n  ca = %q\n", r.host, filepath.Join(folder, "ca.crt")), 0o644))
}

// has pushes an image that was built, and returns its name by digest.
func (r imageRegistry) has(t *testing.T, built string, annotations map[string]string, transport http.RoundTripper) string {
	t.Helper()
	image, err := tarball.ImageFromPath(filepath.Join(repository(t), "dist", built+".tar"), nil)
	require.NoError(t, err)
	image = mutate.Annotations(image, annotations).(v1.Image) //nolint:forcetypeassert // of an image
	repository, err := name.NewRepository(r.host + "/base/" + built)
	require.NoError(t, err)
	digest, err := image.Digest()
	require.NoError(t, err)
	require.NoError(t, remote.Write(repository.Digest(digest.String()), image, remote.WithTransport(transport), remote.WithAuth(&authn.Basic{Username: pusher, Password: pusherPassword})))
	return repository.Digest(digest.String()).String()
}

// selfSigned returns a certificate of the host, which is its own authority.
func (w *world) selfSigned() (certificate tls.Certificate, ca []byte) {
	w.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(w.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.ParseIP(w.HostAddress)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(w.t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// branch serves a repository whose branch main has files, and returns the reference of the branch.
func (w *world) branch(files map[string]string) string {
	w.t.Helper()
	folder := w.t.TempDir()
	git := func(args ...string) {
		c := exec.CommandContext(w.t.Context(), "git", append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := c.CombinedOutput()
		require.NoError(w.t, err, string(out))
	}
	git("init", "--quiet", "--initial-branch", "main")
	for name, content := range files {
		require.NoError(w.t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	git("add", "--all")
	git("commit", "--quiet", "--message", "content")
	program, err := exec.LookPath("git")
	require.NoError(w.t, err)
	server := httptest.NewUnstartedServer(&cgi.Handler{Path: program, Args: []string{"http-backend"}, Env: []string{
		"GIT_PROJECT_ROOT=" + folder, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}})
	server.Listener = w.listen(server.Listener)
	server.Start()
	w.t.Cleanup(server.Close)
	return "git+" + server.URL + "/.git@main"
}

// built has the cluster build a template, first from a branch, then from content that a person pushed: its image is pushed to
// a registry, and the node pulls it from there. Its versions go with the template (JOBS.md J16).
func (w *world) built(r imageRegistry) {
	w.apply(fmt.Sprintf(builtTemplate, r.busybox, w.branch(map[string]string{"main.sh": script})))
	version := w.runsVersion(r, "")
	w.kubectl("patch", "jobtemplate", "hello", "--type=merge", "-p", `{"spec":{"build":{"source":{"reference":null}}}}`)
	w.contains("push it: `orcon job template push FOLDER --template hello", "get", "jobtemplate", "hello", "-o", "jsonpath={.status.conditions[*].message}")
	folder := w.t.TempDir()
	require.NoError(w.t, os.WriteFile(filepath.Join(folder, "main.sh"), []byte(script+"echo pushed\n"), 0o600))
	code, out := w.orcon(controlplane.Binary(w.t, "orcon"), "job", "template", "push", folder, "--template", "hello")
	require.Zero(w.t, code, out)
	assert.NotEqual(w.t, version, w.runsVersion(r, version))
	assert.Regexp(w.t, "^sha256:[0-9a-f]{64}$", w.field("jobtemplate/hello", "{.status.source}"))
	w.contains("pushed the content sha256:", "get", "events", "--field-selector=reason=ContentPushed", "-o", "jsonpath={.items[*].message}")
	out, err := w.tryWith("", "replace", "--as=stranger", "--raw", people.Path(w.namespace, people.Templates, "hello", people.Contents), "-f", filepath.Join(folder, "main.sh"))
	require.Error(w.t, err)
	assert.Contains(w.t, out, "stranger")
	w.kubectl("delete", "jobworkspace/hello", "jobtemplate/hello", "--timeout="+patience.String())
	w.prints("", "get", "jobtemplateversions", "-o", "name")
}

// runsVersion waits for a version of template hello that is not the one before, runs it, and returns its name.
func (w *world) runsVersion(r imageRegistry, before string) string {
	w.t.Helper()
	var version string
	w.eventually(func() string {
		if version = w.field("jobtemplate/hello", "{.status.version}"); version == "" || version == before {
			return "there is no new version: " + w.field("jobtemplate/hello", "{.status.conditions[*].message}")
		}
		return ""
	})
	image := w.field("jobtemplateversion/"+version, "{.spec.image}")
	assert.Regexp(w.t, `^`+r.host+`/templates/`+w.namespace+`/hello@sha256:[0-9a-f]{64}$`, image)
	run := w.begin("hello", "deploy")
	w.phase(run, "Succeeded")
	assert.JSONEq(w.t, `{"given": {"greeting": "hello", "name": "Ann"}}`, w.field("jobrun/"+run, "{.state.report.outputs}"))
	assert.Equal(w.t, image, w.field("jobrun/"+run, "{.state.input.image}"))
	w.prints(`["jobtemplate/hello","jobworkspace/hello"]`, "get", "jobtemplateversion", version, "-o", "jsonpath={.status.users}")
	return version
}

// shippedTypes has a person push a configuration of the shipped type for OpenTofu, which is copied into each run: no image is
// built, and the last run destroys what the others made (JOBS.md J16 and J18).
func (w *world) shippedTypes() {
	image := w.byDigest("localhost/orcon/network:dev")
	orcon := controlplane.Binary(w.t, "orcon")
	_, out := w.orcon(orcon, "job", "template", "list", "--types")
	assert.Regexp(w.t, `ansible +Ansible +AdHoc +Idempotent +deploy, check +ansible_become, ansible_port, ansible_user`, out)
	assert.Regexp(w.t, `opentofu +OpenTofu +AdHoc +Exclusive +deploy, check, repair, destroy`, out)

	w.kubectl("apply", "-f", deployment(w.t, "examples/jobs/built.yaml"))
	content := w.t.TempDir()
	require.NoError(w.t, os.CopyFS(content, os.DirFS(deployment(w.t, "examples/jobs/opentofu"))))
	require.NoError(w.t, os.WriteFile(filepath.Join(content, "pushed.tf"), []byte(`output "pushed" { value = "yes" }`), 0o600))
	code, out := w.orcon(orcon, "job", "template", "push", content, "--template", "sites")
	require.Zero(w.t, code, out)
	run := w.begin("sites", "deploy")
	w.phase(run, "Succeeded")
	outputs := w.field("jobrun/"+run, "{.state.report.outputs}")
	assert.Contains(w.t, outputs, `"ghent":"10.0.0.0/24"`)
	assert.Contains(w.t, outputs, `"pushed"`, "the image has no such file")
	assert.Equal(w.t, image, w.field("jobrun/"+run, "{.state.input.image}"))
	w.kubectl("delete", "jobtemplate", "sites")
	destroys := "sites-" + w.field("jobworkspace/sites", "{.metadata.uid}")[:6]
	w.kubectl("delete", "jobworkspace", "sites", "--timeout="+patience.String())
	assert.Contains(w.t, strings.Fields(w.kubectl("get", "events", "--field-selector=involvedObject.kind=JobRun,reason=Succeeded",
		"-o", "jsonpath={.items[*].involvedObject.name}")), destroys)
}

// typed installs the shipped types with images of an administrator.
func (w *world) typed(images map[string]string) {
	w.t.Helper()
	overlay := w.t.TempDir()
	types, err := filepath.Rel(overlay, deployment(w.t, "job-types"))
	require.NoError(w.t, err)
	text := fmt.Sprintf("resources: [%s]\npatches:\n", types)
	for name, image := range images {
		text += fmt.Sprintf("  - target: {kind: JobTemplateType, name: %s}\n"+
			"    patch: '[{\"op\": \"replace\", \"path\": \"/spec/image\", \"value\": %q}]'\n", name, w.byDigest(image))
	}
	require.NoError(w.t, os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600))
	w.kubectl("apply", "-k", overlay)
}

// script is the content of templates of type script: it may write beside itself.
const script = `cp "$ORCON_PARAMETERS" given
echo "{\"given\": $(cat given)}" >"$ORCON_OUTPUTS"
`

// builtTemplate are type script, a template of it and its JobWorkspace.
const builtTemplate = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplateType
metadata: {name: script}
spec:
  image: %s
  contract: v1
  parameters: {properties: {greeting: {type: string}, name: {type: string}}}
  actions:
    - {name: deploy, entrypoint: [sh, -e, main.sh]}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: hello}
spec:
  build:
    type: script
    source: {reference: "%s"}
    fixed: {greeting: hello}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: hello}
spec: {template: hello, parameters: {name: Ann}}
`
