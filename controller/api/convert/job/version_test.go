package job

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/template"
)

// A version that is stored and read again runs as the one that was frozen.
func TestVersions(t *testing.T) {
	kind := &v1alpha1.JobTemplateType{ObjectMeta: metav1.ObjectMeta{Name: "tofu"}, Spec: v1alpha1.JobTemplateTypeSpec{
		JobProgram: v1alpha1.JobProgram{
			Image: "example.org/tofu@sha256:" + strings.Repeat("a", 64), Contract: "v1", Type: v1alpha1.TypeOpenTofu, Safety: v1alpha1.SafetyIdempotent,
			Parameters: &runtime.RawExtension{Raw: []byte(`{"properties": {"region": {}, "key": {"sensitive": true}}}`)},
			Actions:    []v1alpha1.JobAction{{Name: "deploy", Entrypoint: []string{"tofu"}, Args: []string{"apply"}}},
			Env:        []v1alpha1.JobVariable{{Name: "A", Value: "1"}}, Exclude: []string{".terraform/"},
		},
		Outputs: &runtime.RawExtension{Raw: []byte(`{"properties": {"url": {}, "password": {"sensitive": true}}}`)},
	}}
	child := &v1alpha1.JobTemplate{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1alpha1.JobTemplateSpec{
		JobProgram: v1alpha1.JobProgram{Rescue: []string{"a"}},
		Build:      &v1alpha1.JobTemplateBuild{Type: "tofu", Fixed: &runtime.RawExtension{Raw: []byte(`{"region": 1.50}`)}},
	}}
	parent, err := ToType(kind)
	require.NoError(t, err)
	build, err := ToBuild(child)
	require.NoError(t, err)
	v, err := template.Freeze(parent, build, "sha256:content")
	require.NoError(t, err)
	image := "example.org/web@sha256:" + strings.Repeat("b", 64)
	o, err := ForVersion(v, "shop", image, "git+https://a.example/b@c")
	require.NoError(t, err)
	assert.Equal(t, map[string]string{v1alpha1.LabelTemplate: "web"}, o.Labels)
	stored, err := ToVersion(o)
	require.NoError(t, err)
	frozen, err := v.Runnable(o.Name, image)
	require.NoError(t, err)
	assert.Equal(t, []string{"key"}, stored.Sensitive)
	assert.Equal(t, []string{"password"}, stored.SensitiveOutputs)
	for _, secrets := range [][]run.SecretFile{{{Name: "key", Secret: "a", Key: "b"}}, {{Name: "key", JoinToken: "lab-1"}}, nil} {
		assert.Equal(t, secrets, ToSecrets(forSecrets(secrets)))
		want, err := frozen.Freeze("deploy", nil, secrets)
		require.NoError(t, err)
		got, err := stored.Freeze("deploy", nil, secrets)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err = ToTemplate(child)
	require.ErrorContains(t, err, "cannot use template web: it is built")
}

// Everything that cannot be read is named, with its field.
func TestVersionsRefused(t *testing.T) {
	wrong := v1alpha1.JobProgram{
		Type: "Tofu", Safety: "Sure", Parameters: &runtime.RawExtension{Raw: []byte(`[]`)}, Env: []v1alpha1.JobVariable{{Name: "A"}, {Name: "A"}},
		Actions: []v1alpha1.JobAction{{Name: "a"}, {Name: "a"}},
	}
	_, err := ToType(&v1alpha1.JobTemplateType{Spec: v1alpha1.JobTemplateTypeSpec{JobProgram: wrong, Outputs: &runtime.RawExtension{Raw: []byte(`[]`)}}})
	for _, says := range []string{"spec.type: value \"Tofu\"", "spec.safety", "spec.parameters: ", "spec.outputs: ", "spec.env[1]", "spec.actions[1]"} {
		require.ErrorContains(t, err, says)
	}
	_, err = ToBuild(&v1alpha1.JobTemplate{})
	require.ErrorContains(t, err, "it names an image, and has no spec.build")
	_, err = ToBuild(&v1alpha1.JobTemplate{Spec: v1alpha1.JobTemplateSpec{Build: &v1alpha1.JobTemplateBuild{
		Fixed: &runtime.RawExtension{Raw: []byte(`1`)}, Defaults: &runtime.RawExtension{Raw: []byte(`1`)}, Outputs: &runtime.RawExtension{Raw: []byte(`1`)},
	}}})
	for _, says := range []string{"spec.build.fixed", "spec.build.defaults", "spec.build.outputs"} {
		require.ErrorContains(t, err, says)
	}
}
