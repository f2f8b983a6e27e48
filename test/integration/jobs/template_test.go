package jobs

import (
	"context"
	"io"
	"log"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/build"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/contents"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// A template is built from a branch, and each move of the branch is a version, which JobWorkspaces run with what it fixes,
// unless they name another. A version that is used cannot be deleted (JOBS.md J16).
func TestBuiltTemplate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "true")
	repository, commit := repositoryOf(t)
	w.building(repository, func(*v1alpha1.JobTemplateType, *v1alpha1.JobTemplate) {})
	versions := []string{w.version("")}
	commit("second")
	versions = append(versions, w.version(versions[0]))

	require.NoError(t, w.edit(func(o *v1alpha1.JobWorkspace) {
		o.Spec.Template, o.Spec.Version = "web", versions[0]
		o.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"host": "a.example"}`)}
	}))
	w.run("one")
	w.reaches("one", "Ready Succeeded: it succeeded; its state is unchanged")
	assert.JSONEq(t, `{"host": "a.example", "region": "eu", "size": 2}`, w.out("one"))
	var first v1alpha1.JobTemplateVersion
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: versions[0]}, &first))
	assert.Equal(t, first.Spec.Image, w.get("one").State.Input.Image)

	root, err := controlplane.Root()
	require.NoError(t, err)
	w.cluster.Kubectl(t, "apply", "-f", filepath.Join(root, "deployment", "job-controller", "state.yaml"))
	remove := func(version string) string {
		out, _ := w.cluster.Try("-n", w.namespace, "delete", "jobtemplateversion", version, "--dry-run=server")
		return out
	}
	for version, user := range map[string]string{versions[0]: "jobworkspace/db", versions[1]: "jobtemplate/web"} {
		controlplane.Eventually(t, func() bool {
			return strings.Contains(remove(version), "JobTemplateVersion "+version+" is used by "+user+": have them use another version, or delete them")
		}, limit, "it is used")
	}
	require.NoError(t, w.edit(func(o *v1alpha1.JobWorkspace) { o.Spec.Version = "" }))
	controlplane.Eventually(t, func() bool { return strings.Contains(remove(versions[0]), "deleted") }, limit, "nothing uses it")
	out, _ := w.cluster.Try("-n", w.namespace, "patch", "jobtemplateversion", versions[0], "--type=merge", "-p", `{"spec":{"contract":null}}`)
	assert.Contains(t, out, "a JobTemplateVersion never changes")
}

// repositoryOf returns the address of a repository with branch main, and what adds a commit to it.
func repositoryOf(t *testing.T) (address string, commit func(content string)) {
	t.Helper()
	folder := t.TempDir()
	git := func(args ...string) {
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	git("init", "--quiet", "--initial-branch", "main")
	commit = func(content string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "content"), []byte(content), 0o600))
		git("add", "--all")
		git("commit", "--quiet", "--message", content)
	}
	commit("first")
	path, err := exec.LookPath("git")
	require.NoError(t, err)
	s := httptest.NewServer(&cgi.Handler{Path: path, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + folder,
		"GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}})
	t.Cleanup(s.Close)
	return "git+" + s.URL + "/.git@main", commit
}

// Content of an ad-hoc type is copied to the working directory of each run, which no image has: the version names both
// (JOBS.md J16). A run that is destroyed needs neither template nor version (JOBS.md J18).
func TestAdHocTemplate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "true")
	var files bundle.Tree
	require.NoError(t, files.Add("sub/main.sh", bundle.File{Content: []byte("cp \"$ORCON_PARAMETERS\" \"$OUT/$1\"; echo >beside\n"), Executable: true}))
	digest, err := contents.Put(t.Context(), w.store, w.namespace, &files)
	require.NoError(t, err)
	image := ""
	w.building("", func(kind *v1alpha1.JobTemplateType, o *v1alpha1.JobTemplate) {
		image, kind.Spec.Mode, o.Spec.Build.Source = kind.Spec.Image, v1alpha1.ModeAdHoc, v1alpha1.JobTemplateSource{Digest: digest}
		kind.Spec.Actions = []v1alpha1.JobAction{
			{Name: "deploy", Entrypoint: []string{"/bin/sh", "-ec"}, Args: []string{`. sub/main.sh; cp beside "$ORCON_STATE/beside"`, "sh", "deployed"}},
			{Name: "destroy", Entrypoint: []string{"/bin/sh", "-e", "sub/main.sh", "destroyed"}},
		}
	})
	var version v1alpha1.JobTemplateVersion
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: w.version("")}, &version))
	assert.Equal(t, image, version.Spec.Image)
	assert.Equal(t, []string{digest, digest}, []string{version.Spec.Content, version.Spec.Origin.Content})
	require.NoError(t, w.edit(func(o *v1alpha1.JobWorkspace) {
		o.Spec.Template, o.Spec.DeletionPolicy = "web", v1alpha1.DeletionPolicyDestroy
		o.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"host": "a.example"}`)}
	}))
	w.run("one")
	w.reaches("one", "Ready Succeeded: it succeeded; its state is committed")
	assert.Equal(t, digest, w.get("one").State.Input.Content)
	assert.JSONEq(t, `{"host": "a.example", "region": "eu", "size": 2}`, w.out("deployed"))
	require.NoError(t, w.client.Delete(t.Context(), &v1alpha1.JobTemplate{ObjectMeta: w.named("web")}))
	require.NoError(t, w.client.Delete(t.Context(), w.workspace()))
	controlplane.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(w.outside, "destroyed"))
		return err == nil
	}, limit, "it destroys by the content that was frozen")
}

// building starts a controller that builds with a registry of this machine, and makes type script and template web, which may
// be changed before.
func (w *world) building(repository string, change func(kind *v1alpha1.JobTemplateType, o *v1alpha1.JobTemplate)) {
	w.t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	host := strings.TrimPrefix(s.URL, "http://")
	image, err := random.Image(1024, 1)
	require.NoError(w.t, err)
	tag, err := name.NewTag(host + "/script:v1")
	require.NoError(w.t, err)
	require.NoError(w.t, remote.Write(tag, image))
	digest, err := image.Digest()
	require.NoError(w.t, err)
	isolated, err := supply.Isolate(w.t.TempDir())
	require.NoError(w.t, err)
	m, err := manager.New(w.cluster.Config(w.t), manager.Options{
		Scheme: scheme(w.t), Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}},
	})
	require.NoError(w.t, err)
	r := &build.Reconciler{Client: m.GetClient(), Now: time.Now, Workshop: build.Registry{
		Contents: isolated, Store: w.store, Prefix: host + "/templates", Credentials: func() (bundle.Credentials, error) { return bundle.Credentials{}, nil },
	}}
	require.NoError(w.t, r.SetupWithManager(m))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	w.t.Cleanup(func() {
		stop()
		assert.NoError(w.t, <-ended)
		s.Close()
	})
	kind := &v1alpha1.JobTemplateType{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Spec: v1alpha1.JobTemplateTypeSpec{JobProgram: v1alpha1.JobProgram{
		Image: host + "/script@" + digest.String(), Contract: "v1",
		Parameters: &runtime.RawExtension{Raw: []byte(`{"properties": {"region": {"type": "string"}, "size": {"type": "integer"}}}`)},
		Actions:    []v1alpha1.JobAction{{Name: "deploy", Entrypoint: []string{"/bin/sh", "-c", `cp "$ORCON_PARAMETERS" "$OUT/$ORCON_RUN"`}}},
		Env:        []v1alpha1.JobVariable{{Name: "OUT", Value: w.outside}},
	}}}
	o := &v1alpha1.JobTemplate{ObjectMeta: w.named("web"), Spec: v1alpha1.JobTemplateSpec{
		JobProgram: v1alpha1.JobProgram{Parameters: &runtime.RawExtension{Raw: []byte(`{"properties": {"host": {"type": "string"}}}`)}},
		Build: &v1alpha1.JobTemplateBuild{
			Type: w.namespace, Source: v1alpha1.JobTemplateSource{Reference: repository, Interval: &metav1.Duration{Duration: 10 * time.Second}},
			Fixed:    &runtime.RawExtension{Raw: []byte(`{"region": "eu"}`)},
			Defaults: &runtime.RawExtension{Raw: []byte(`{"size": 2}`)},
		},
	}}
	change(kind, o)
	w.create(kind)
	w.t.Cleanup(func() { assert.NoError(w.t, w.client.Delete(context.Background(), kind)) })
	w.create(o)
}

// version waits for a version of template web that is not the one before, and returns its name.
func (w *world) version(before string) (version string) {
	w.t.Helper()
	controlplane.Eventually(w.t, func() bool {
		var o v1alpha1.JobTemplate
		require.NoError(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "web"}, &o))
		version = o.Status.Version
		return version != "" && version != before
	}, limit, "a version other than %q", before)
	return version
}
