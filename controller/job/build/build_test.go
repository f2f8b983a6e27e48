package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/contents"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/template"
)

func TestMain(m *testing.M) {
	supply.Child(nil)
	os.Exit(m.Run())
}

// commit is what branch main means first.
const commit = "0123456789012345678901234567890123456789"

// bench is a Workshop in memory, whose branch main has content.
type bench struct {
	content, commit string
	link            string
	// pushed are contents by namespace and digest.
	pushed map[string]bundle.Tree
	// fetching and making are the errors of each step.
	fetching, making error
	fetched, built   int
	// held has a fetch wait.
	held chan struct{}
}

// Fetch implements Workshop.
func (b *bench) Fetch(ctx context.Context, r bundle.Reference) (bundle.Tree, bundle.Reference, error) {
	b.fetched++
	if b.held != nil {
		select {
		case <-b.held:
		case <-ctx.Done():
			return bundle.Tree{}, r, context.Cause(ctx)
		}
	}
	var tree bundle.Tree
	err := errors.Join(b.fetching, tree.Add("main.tf", bundle.File{Content: []byte(b.content), Link: b.link}))
	r.Digest, r.Version = b.commit, ""
	return tree, r, err
}

// Pushed implements Workshop.
func (b *bench) Pushed(_ context.Context, namespace, digest string) (bundle.Tree, error) {
	files, there := b.pushed[namespace+" "+digest]
	if !there {
		return files, contents.ErrMissing
	}
	return files, nil
}

// Make implements Workshop.
func (b *bench) Make(_ context.Context, namespace string, v template.Version, _ bundle.Tree) (string, error) {
	b.built++
	return fmt.Sprintf("registry.example.org/%s/%s@sha256:%064d", namespace, v.Template, b.built), b.making
}

// world is a cluster in memory with type tofu and template shop/web.
type world struct {
	*Reconciler

	t     *testing.T
	bench *bench
	now   time.Time
	done  chan types.NamespacedName
	// refused is the error of each write.
	refused error
	writes  int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	w := &world{t: t, bench: &bench{content: "a", commit: commit}, now: time.Unix(1_000_000, 0), done: make(chan types.NamespacedName, 100)}
	count := func() error {
		w.writes++
		return w.refused
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.JobTemplate{}, &v1alpha1.JobTemplateVersion{}).
		WithObjects(kind(), child()).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return errors.Join(count(), c.SubResource(sub).Patch(ctx, o, p, opts...))
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := count(); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
	}).Build()
	w.Reconciler = &Reconciler{Client: c, Workshop: w.bench, Now: func() time.Time { return w.now }}
	w.works = newWorks(w.Now, func(name types.NamespacedName) { w.done <- name })
	return w
}

func kind() *v1alpha1.JobTemplateType {
	return &v1alpha1.JobTemplateType{
		ObjectMeta: metav1.ObjectMeta{Name: "tofu", UID: "kind"},
		Spec: v1alpha1.JobTemplateTypeSpec{JobProgram: v1alpha1.JobProgram{
			Image: "registry.example.org/tofu@sha256:" + strings.Repeat("a", 64), Contract: "v1", Type: v1alpha1.TypeOpenTofu,
			Parameters: &runtime.RawExtension{Raw: []byte(`{"properties": {"region": {"type": "string"}}}`)},
			Actions:    []v1alpha1.JobAction{{Name: "deploy", Entrypoint: []string{"tofu"}}},
		}},
	}
}

func child() *v1alpha1.JobTemplate {
	return &v1alpha1.JobTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web", Generation: 1},
		Spec: v1alpha1.JobTemplateSpec{Build: &v1alpha1.JobTemplateBuild{
			Type: "tofu", Source: v1alpha1.JobTemplateSource{Reference: "git+https://git.example.org/web@main"},
			Fixed: &runtime.RawExtension{Raw: []byte(`{"region": "eu"}`)},
		}},
	}
}

// request names template shop/web.
func web() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
}

// pass reconciles once, and returns when it is to be done again.
func (w *world) pass() time.Duration {
	w.t.Helper()
	result, err := w.Reconcile(w.t.Context(), web())
	require.NoError(w.t, err)
	return result.RequeueAfter
}

// settle reconciles until the build that this begins has ended.
func (w *world) settle() time.Duration {
	w.t.Helper()
	w.pass()
	require.Equal(w.t, web().NamespacedName, <-w.done)
	w.pass()
	return w.pass() // the cache knows the version
}

func (w *world) template() *v1alpha1.JobTemplate {
	w.t.Helper()
	var o v1alpha1.JobTemplate
	require.NoError(w.t, w.Client.Get(w.t.Context(), web().NamespacedName, &o))
	return &o
}

// edit changes the template as a user does.
func (w *world) edit(change func(o *v1alpha1.JobTemplate)) {
	w.t.Helper()
	o := w.template()
	change(o)
	o.Generation++
	require.NoError(w.t, w.Client.Update(w.t.Context(), o))
}

// shows returns the condition that is true, as REASON: MESSAGE.
func (w *world) shows() string {
	w.t.Helper()
	for _, c := range w.template().Status.Conditions {
		if c.Status == metav1.ConditionTrue {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

// versions returns the versions with their users.
func (w *world) versions() map[string]string {
	w.t.Helper()
	var list v1alpha1.JobTemplateVersionList
	require.NoError(w.t, w.Client.List(w.t.Context(), &list))
	all := map[string]string{}
	for i := range list.Items {
		all[list.Items[i].Name] = strings.Join(list.Items[i].Status.Users, " ")
	}
	return all
}

// JOBS.md J16: content and type become a version; a branch that moves makes another one, and the same content none.
func TestVersions(t *testing.T) {
	w := newWorld(t)
	w.bench.held = make(chan struct{})
	w.pass()
	assert.Equal(t, "Building: its content is fetched and built", w.shows())
	close(w.bench.held)
	<-w.done
	w.bench.held = nil
	w.pass()
	assert.Equal(t, defaultInterval, w.pass())
	first := w.template().Status
	assert.Equal(t, "Built: version "+first.Version+" is current", w.shows())
	assert.Equal(t, "git+https://git.example.org/web@"+commit, first.Source)
	assert.Equal(t, map[string]string{first.Version: "jobtemplate/web"}, w.versions())

	writes := w.writes
	w.now = w.now.Add(defaultInterval)
	w.settle()
	assert.Equal(t, 2, w.bench.fetched)
	assert.Equal(t, 1, w.bench.built)
	assert.Equal(t, writes, w.writes, "what has not changed writes nothing")

	w.bench.content, w.bench.commit = "b", strings.Replace(commit, "0", "f", 1)
	w.now = w.now.Add(defaultInterval)
	w.settle()
	second := w.template().Status
	assert.NotEqual(t, first.Version, second.Version)
	assert.Contains(t, second.Source, "@f1234")
	assert.Equal(t, map[string]string{first.Version: "", second.Version: "jobtemplate/web"}, w.versions())

	w.edit(func(o *v1alpha1.JobTemplate) {
		o.Spec.Build.Source.Reference = "git+https://git.example.org/web@" + commit
	})
	assert.Zero(t, w.settle(), "a commit never moves")
	w.edit(func(o *v1alpha1.JobTemplate) {
		o.Spec.Build.Source = v1alpha1.JobTemplateSource{Reference: "git+https://git.example.org/web@v1", Interval: &metav1.Duration{Duration: time.Hour}}
	})
	assert.Equal(t, time.Hour, w.settle())
}

// What cannot be built is named, the last version stays, and what may pass is tried again.
func TestFailures(t *testing.T) {
	for label, tc := range map[string]struct {
		why, shows string
		change     func(w *world)
		again      time.Duration
	}{
		"Fetch": {"a server that is away", "SourceFailed: the content is not available: away; version ", func(w *world) { w.bench.fetching = errors.New("away") }, retry},
		"Push":  {"a registry that is away", "BuildFailed: away; version ", func(w *world) { w.bench.making, w.bench.content = errors.New("away"), "b" }, retry},
		"Link":  {"it leads elsewhere", `Refused: cannot use "main.tf": it is a symbolic link`, func(w *world) { w.bench.link = bundle.SymbolicLink }, defaultInterval},
		"Misfit": {"the type refuses it", "Refused: cannot freeze template web of type tofu: fixed: parameter \"region\" does not fit", func(w *world) {
			w.edit(func(o *v1alpha1.JobTemplate) { o.Spec.Build.Fixed.Raw = []byte(`{"region": 1}`) })
		}, defaultInterval},
	} {
		t.Run(label, func(t *testing.T) {
			w := newWorld(t)
			w.settle()
			version := w.template().Status.Version
			tc.change(w)
			w.now = w.now.Add(defaultInterval)
			assert.Equal(t, tc.again, w.settle(), tc.why)
			assert.Contains(t, w.shows(), tc.shows, tc.why)
			assert.Contains(t, w.shows(), "; version "+version+" stays current", tc.why)
			assert.Equal(t, version, w.template().Status.Version, tc.why)
			w.bench.fetching, w.bench.making, w.bench.link = nil, nil, ""
			w.edit(func(o *v1alpha1.JobTemplate) { o.Spec.Build.Fixed = nil })
			w.settle()
			assert.Contains(t, w.shows(), "Built: ", "it is mended")
		})
	}
}

// JOBS.md J16: a template waits for content that is pushed, and is built from it again, as the same version, as long as it
// is stored.
func TestPushed(t *testing.T) {
	w := newWorld(t)
	w.edit(func(o *v1alpha1.JobTemplate) { o.Spec.Build.Source = v1alpha1.JobTemplateSource{} })
	assert.Zero(t, w.pass())
	assert.Equal(t, "SourceFailed: the content is not available: push it: `orcon job template push FOLDER --template web -n shop`", w.shows())
	var files bundle.Tree
	require.NoError(t, files.Add("main.tf", bundle.File{Content: []byte("pushed")}))
	w.edit(func(o *v1alpha1.JobTemplate) { o.Spec.Build.Source.Digest = files.Digest() })
	assert.Equal(t, retry, w.settle(), "it may come")
	assert.Contains(t, w.shows(), "SourceFailed: the content is not available: the content is not stored")
	w.bench.pushed = map[string]bundle.Tree{"shop " + files.Digest(): files}
	w.now = w.now.Add(retry)
	assert.Zero(t, w.settle(), "a digest never moves")
	first := w.template().Status
	assert.Contains(t, w.shows(), "Built: ")
	assert.Equal(t, files.Digest(), first.Source)

	w.edit(func(o *v1alpha1.JobTemplate) { o.Spec.Build.Source = child().Spec.Build.Source })
	w.settle()
	require.NoError(t, w.Client.Delete(t.Context(), &v1alpha1.JobTemplateVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: first.Version}}))
	w.edit(func(o *v1alpha1.JobTemplate) {
		o.Spec.Build.Source = v1alpha1.JobTemplateSource{Digest: files.Digest()}
	})
	w.settle()
	assert.Equal(t, first.Version, w.template().Status.Version)
	assert.Contains(t, w.versions(), first.Version)
}

// Without a type nothing is built, and what cannot be read is refused at once.
func TestUnusable(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.Client.Delete(t.Context(), kind()))
	assert.Zero(t, w.pass())
	assert.Equal(t, "TypeMissing: there is no JobTemplateType tofu: the type is missing: create it, or correct spec.build.type", w.shows())
	wrong := kind()
	wrong.Spec.Parameters.Raw = []byte(`{"allOf": [{}]}`)
	require.NoError(t, w.Client.Create(t.Context(), wrong))
	w.edit(func(o *v1alpha1.JobTemplate) { o.Spec.Build.Source.Reference = "git+https://git" })
	w.pass()
	assert.Contains(t, w.shows(), "Refused: cannot use JobTemplateType tofu: spec.parameters: keyword \"allOf\"")
	assert.Contains(t, w.shows(), `cannot use reference "git+https://git"`)
	assert.Zero(t, w.bench.fetched)
	w.edit(func(o *v1alpha1.JobTemplate) { o.Spec = v1alpha1.JobTemplateSpec{} })
	assert.Zero(t, w.pass(), "a template that names an image is not built")
}

// A version names its users. Of the unused ones the oldest go; with the template all of them do.
func TestUsers(t *testing.T) {
	w := newWorld(t)
	w.settle()
	first := w.template().Status.Version
	for _, one := range []*v1alpha1.JobWorkspace{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pinned"}, Spec: v1alpha1.JobWorkspaceSpec{Template: "web", Version: first}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "follows"}, Spec: v1alpha1.JobWorkspaceSpec{Template: "web"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other"}, Spec: v1alpha1.JobWorkspaceSpec{Template: "db"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "follows"}, Spec: v1alpha1.JobWorkspaceSpec{Template: "web"}},
	} {
		require.NoError(t, w.Client.Create(t.Context(), one))
	}
	w.pass()
	assert.Equal(t, map[string]string{first: "jobtemplate/web jobworkspace/follows jobworkspace/pinned"}, w.versions())
	for n := range unused + 3 {
		w.bench.content = fmt.Sprint("content ", n)
		w.now = w.now.Add(defaultInterval)
		w.settle()
	}
	current := w.template().Status.Version
	all := w.versions()
	assert.Len(t, all, unused+2, "ten that nothing uses, and two that are used")
	assert.Equal(t, "jobworkspace/pinned", all[first])
	assert.Equal(t, "jobtemplate/web jobworkspace/follows", all[current])
	require.NoError(t, w.Client.Delete(t.Context(), w.template()))
	w.pass()
	assert.Equal(t, map[string]string{first: "jobworkspace/pinned"}, w.versions())
}

// What cannot be written is an error, and is tried again.
func TestWritesFail(t *testing.T) {
	w := newWorld(t)
	w.refused = apierrors.NewInternalError(errors.New("down"))
	_, err := w.Reconcile(t.Context(), web())
	require.ErrorContains(t, err, "cannot write the status")
	<-w.done
	w.refused = nil
	assert.Equal(t, retry, w.pass())
	assert.Contains(t, w.shows(), "BuildFailed: cannot create JobTemplateVersion web-")
	w.now = w.now.Add(retry)
	w.settle()
	assert.Contains(t, w.shows(), "Built: ")
	require.Equal(t, []reconcile.Request{web()}, w.ofType(t.Context(), kind()))
	require.Equal(t, []reconcile.Request{web()}, ofWorkspace(t.Context(), &v1alpha1.JobWorkspace{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, Spec: v1alpha1.JobWorkspaceSpec{Template: "web"}}))
	require.Empty(t, ofVersion(t.Context(), &v1alpha1.JobTemplateVersion{}))
}

// A template that goes while it is built stops its build; one that changes begins another.
func TestStopped(t *testing.T) {
	w := newWorld(t)
	w.bench.held = make(chan struct{})
	w.pass()
	w.edit(func(o *v1alpha1.JobTemplate) { o.Spec.Build.Fixed = nil })
	w.pass()
	require.NoError(t, w.Client.Delete(t.Context(), w.template()))
	w.pass()
	for range places { // both places are free again
		w.works.rooms <- struct{}{}
	}
	assert.Empty(t, w.works.all)
	assert.Empty(t, w.versions())
}
