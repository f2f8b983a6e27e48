package templates_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/templates"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// program returns a program of an image that is named by a letter.
func program(letter string, safety v1alpha1.JobSafety) v1alpha1.JobProgram {
	return v1alpha1.JobProgram{
		Image: "example.org/a@sha256:" + strings.Repeat(letter, 64), Contract: "v1", Safety: safety,
		Actions: []v1alpha1.JobAction{{Name: "deploy", Entrypoint: []string{"/a"}}},
	}
}

// objects are template plain, which names an image, template built, whose versions are one and two, and template fresh,
// which has none yet.
func objects() []client.Object {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }
	built := v1alpha1.JobTemplateSpec{Build: &v1alpha1.JobTemplateBuild{Type: "tofu"}}
	version := func(name, letter string, safety v1alpha1.JobSafety) *v1alpha1.JobTemplateVersion {
		return &v1alpha1.JobTemplateVersion{ObjectMeta: named(name), Spec: v1alpha1.JobTemplateVersionSpec{
			JobProgram: program(letter, safety), Fixed: &runtime.RawExtension{Raw: []byte(`{"region": "eu"}`)},
			Origin: v1alpha1.JobVersionOrigin{Template: "built"},
		}}
	}
	return []client.Object{
		&v1alpha1.JobTemplate{ObjectMeta: named("plain"), Spec: v1alpha1.JobTemplateSpec{JobProgram: program("a", v1alpha1.SafetyIdempotent)}},
		&v1alpha1.JobTemplate{ObjectMeta: named("built"), Spec: built, Status: v1alpha1.JobTemplateStatus{Version: "two"}},
		&v1alpha1.JobTemplate{ObjectMeta: named("fresh"), Spec: built},
		version("one", "1", v1alpha1.SafetyReadOnly), version("two", "2", v1alpha1.SafetyExclusive),
	}
}

// find returns what a JobWorkspace of a template and a version runs. Reads of kinds that are broken fail.
func find(t *testing.T, template, version string, broken client.Object) (templates.Program, error) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects()...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			_, kind := o.(*v1alpha1.JobTemplateVersion)
			if _, breaks := broken.(*v1alpha1.JobTemplateVersion); broken != nil && kind == breaks {
				return errDown
			}
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	return templates.Find(t.Context(), c, &v1alpha1.JobWorkspace{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: v1alpha1.JobWorkspaceSpec{Template: template, Version: version},
	})
}

var errDown = errors.New("down")

func TestFind(t *testing.T) {
	for label, tc := range map[string]struct {
		why, template, version, letter string
		safety                         job.Safety
		fixed                          int
	}{
		"Image":   {"as it always was", "plain", "", "a", job.Idempotent, 0},
		"Current": {"the version of the template", "built", "", "2", job.Exclusive, 1},
		"Pinned":  {"the one that the JobWorkspace names", "built", "one", "1", job.ReadOnly, 1},
	} {
		t.Run(label, func(t *testing.T) {
			p, err := find(t, tc.template, tc.version, nil)
			require.NoError(t, err, tc.why)
			assert.Equal(t, tc.safety, p.Safety(), tc.why)
			frozen, err := p.Runnable()
			require.NoError(t, err, tc.why)
			assert.Equal(t, "example.org/a@sha256:"+strings.Repeat(tc.letter, 64), frozen.Image, tc.why)
			assert.Len(t, frozen.Fixed, tc.fixed, tc.why)
		})
	}
}

// What may come later is waited for, what is wrong is refused, and what could not be read is neither.
func TestFindFails(t *testing.T) {
	for label, tc := range map[string]struct {
		why, template, version, says string
		broken                       client.Object
		missing, unread              bool
	}{
		"NoTemplate": {"objects come in any order", "none", "", "there is no JobTemplate none in namespace shop: create it", nil, true, false},
		"NoVersion":  {"it is being built", "fresh", "", "JobTemplate fresh has no version yet", nil, true, false},
		"Gone":       {"a slip, or it was deleted", "built", "three", "there is no JobTemplateVersion three", nil, true, false},
		"Other":      {"another program", "fresh", "one", "it is of JobTemplate built, and JobWorkspace web names fresh", nil, false, false},
		"Needless":   {"it would count for nothing", "plain", "one", "it names an image and has no version one", nil, false, false},
		"Unread":     {"it may be there", "plain", "", "cannot read JobTemplate shop/plain", &v1alpha1.JobTemplate{}, false, true},
		"Halfway":    {"it may be there", "built", "", "cannot read JobTemplateVersion two", &v1alpha1.JobTemplateVersion{}, false, true},
	} {
		t.Run(label, func(t *testing.T) {
			p, err := find(t, tc.template, tc.version, tc.broken)
			require.ErrorContains(t, err, tc.says, tc.why)
			_, missing := errors.AsType[*templates.MissingError](err)
			assert.Equal(t, tc.missing, missing, tc.why)
			assert.Equal(t, tc.unread, errors.Is(err, templates.ErrUnread), tc.why)
			assert.Equal(t, tc.unread, errors.Is(err, errDown), tc.why)
			assert.Equal(t, job.Exclusive, p.Safety(), tc.why)
			_, err = p.Runnable()
			require.ErrorContains(t, err, "there is no program", tc.why)
		})
	}
}
