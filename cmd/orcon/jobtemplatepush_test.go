package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/contents"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
)

// JOBS.md J16: a folder and an archive of the same files are the same content, which the template names from then on.
func TestTemplatePush(t *testing.T) {
	j := newJobCluster(t)
	j.template.Spec = v1alpha1.JobTemplateSpec{Build: &v1alpha1.JobTemplateBuild{Type: "opentofu"}}
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.tf"), []byte("x"), 0o600))
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	entry, err := z.Create("main.tf")
	require.NoError(t, err)
	_, err = entry.Write([]byte("x"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	var digest string
	for _, source := range []string{folder, write(t, "content.zip", packed.String())} {
		code, out, errs := call("", append([]string{"job", "template", "push", source, "--template", "tofu"}, j.args...)...)
		require.Zero(t, code, errs)
		if digest == "" {
			digest = j.template.Spec.Build.Source.Digest
		}
		assert.Equal(t, "JobTemplate shop/tofu: its content is "+digest+"\n", out)
		assert.Equal(t, digest, j.template.Spec.Build.Source.Digest)
	}
	files, err := contents.Get(t.Context(), j.store, "shop", digest)
	require.NoError(t, err)
	assert.Equal(t, []string{"main.tf"}, files.Paths())
	assert.Equal(t, people.ContentPushed, j.deeds[0].Kind)
}

// What cannot be right is refused before anything is sent.
func TestTemplatePushRefused(t *testing.T) {
	j := newJobCluster(t)
	folder, linked := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.tf"), []byte("x"), 0o600))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(linked, "main.tf")))
	byImage := j.template.Spec
	of := func(s v1alpha1.JobTemplateSource) v1alpha1.JobTemplateSpec {
		return v1alpha1.JobTemplateSpec{Build: &v1alpha1.JobTemplateBuild{Type: "opentofu", Source: s}}
	}
	pushed := of(v1alpha1.JobTemplateSource{})
	for label, tc := range map[string]struct {
		why, says string
		spec      v1alpha1.JobTemplateSpec
		args      []string
	}{
		"NoName":   {"whose content?", "the flag --template is missing", pushed, []string{folder}},
		"None":     {"a slip", "there is no JobTemplate shop/none: apply it first", pushed, []string{folder, "--template", "none"}},
		"Image":    {"nothing is built", "it names an image, and has no spec.build", byImage, []string{folder, "--template", "tofu"}},
		"Git":      {"both would count", "it is built from git+https://a.example/b: remove spec.build.source.reference", of(v1alpha1.JobTemplateSource{Reference: "git+https://a.example/b"}), []string{folder, "--template", "tofu"}},
		"Remote":   {"the cluster fetches it itself", "name a folder or an archive of this machine", pushed, []string{"git+https://a.example/b@main", "--template", "tofu"}},
		"Linked":   {"a link leads anywhere", `cannot use "main.tf": it is a symbolic link`, pushed, []string{linked, "--template", "tofu"}},
		"NoSource": {"a slip", "file does not exist", pushed, []string{filepath.Join(folder, "none"), "--template", "tofu"}},
		"Empty":    {"nothing to run", "it has no file", pushed, []string{t.TempDir(), "--template", "tofu"}},
	} {
		t.Run(label, func(t *testing.T) {
			j.template.Spec = tc.spec
			code, _, errs := call("", append(append([]string{"job", "template", "push"}, tc.args...), j.args...)...)
			assert.NotZero(t, code, tc.why)
			assert.Contains(t, errs, tc.says, tc.why)
			assert.Equal(t, tc.spec, j.template.Spec)
		})
	}
	assert.Empty(t, j.deeds)
}

// Types are listed with what a template needs to know; one that cannot be used tells why.
func TestTemplateTypes(t *testing.T) {
	j := newJobCluster(t)
	j.types = []v1alpha1.JobTemplateType{
		{ObjectMeta: metav1.ObjectMeta{Name: "script"}, Spec: v1alpha1.JobTemplateTypeSpec{JobProgram: v1alpha1.JobProgram{
			Image: "registry.example.org/script", Parameters: &runtime.RawExtension{Raw: []byte(`{"allOf": [{}]}`)},
		}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "ansible"}, Spec: v1alpha1.JobTemplateTypeSpec{Mode: v1alpha1.ModeAdHoc, JobProgram: v1alpha1.JobProgram{
			Image: "registry.example.org/ansible", Type: v1alpha1.TypeAnsible, Safety: v1alpha1.SafetyIdempotent,
			Parameters: &runtime.RawExtension{Raw: []byte(`{"properties": {"user": {}, "port": {}}}`)},
			Actions:    []v1alpha1.JobAction{{Name: "deploy"}, {Name: "check"}},
		}}},
	}
	code, out, errs := call("", append([]string{"job", "template", "list", "--types"}, j.args...)...)
	require.Zero(t, code, errs)
	lines := strings.Split(out, "\n")
	assert.Regexp(t, `^ansible +Ansible +AdHoc +Idempotent +deploy, check +port, user +registry.example.org/ansible`, lines[1])
	assert.Regexp(t, `^script +- +Image +Exclusive +cannot use JobTemplateType script: spec.parameters: keyword "allOf"`, lines[2])
	code, out, errs = call("", append([]string{"job", "template", "list", "--types", "-o", "json"}, j.args...)...)
	require.Zero(t, code, errs)
	assert.Contains(t, out, `"problem"`)
}

// The shipped types fit the shipped example, and name no image that could be run by mistake.
func TestShippedTypes(t *testing.T) {
	shipped := func(file string) string { return filepath.Join("..", "..", "deployment", filepath.FromSlash(file)) }
	code, out, errs := call("", "job", "template", "dockerfile", shipped("examples/jobs/opentofu"),
		"-f", shipped("job-types/opentofu.yaml"), "-f", shipped("examples/jobs/built.yaml"))
	require.Zero(t, code, errs)
	assert.Contains(t, out, "FROM registry.example.org/types/opentofu@sha256:0000")
	ansible := write(t, "greeting.yaml", `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: greeting}
spec:
  build: {type: ansible, source: {}, fixed: {ansible_user: deploy}, defaults: {ansible_port: 22}}
  parameters: {properties: {host: {type: string}, greeting: {type: string}}}
`)
	code, out, errs = call("", "job", "template", "dockerfile", shipped("examples/jobs/ansible"),
		"-f", shipped("job-types/ansible.yaml"), "-f", ansible)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "FROM registry.example.org/types/ansible@sha256:0000")
}
