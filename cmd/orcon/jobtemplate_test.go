package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// templateKinds are a type and a template of it.
const templateKinds = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplateType
metadata: {name: script}
spec:
  image: registry.example.org/script@sha256:4bc453b53cb3d914b45f4b250294236adba2c0e09ff6f03793949e7e39fd4cc1
  contract: v1
  safety: Idempotent
  parameters:
    required: [region]
    properties:
      region: {type: string}
      size: {type: integer, default: 2}
  actions:
    - {name: deploy, entrypoint: [/work/run.sh]}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: web}
spec:
  build:
    type: script
    source: {reference: git+https://git.example.org/web@main}
    fixed: {region: eu}
  parameters:
    properties:
      host: {type: string}
`

// JOBS.md J16: a template is built without a cluster and without an engine, from a folder, each time bit by bit the same.
func TestTemplateBuild(t *testing.T) {
	image, err := random.Image(1024, 1)
	require.NoError(t, err)
	base := filepath.Join(t.TempDir(), "base.tar")
	require.NoError(t, tarball.WriteToFile(base, nil, image))
	kinds, folder := write(t, "kinds.yaml", templateKinds), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "run.sh"), []byte("#!/bin/sh\n"), 0o700))
	build := func(source string) (v1alpha1.JobTemplateVersion, []byte) {
		file := filepath.Join(t.TempDir(), "image.tar")
		code, out, errs := call("", "job", "template", "build", source, "-f", kinds, "--base", base, "--image", "registry.example.org/web",
			"-o", file, "-n", "shop")
		require.Zero(t, code, errs)
		var v v1alpha1.JobTemplateVersion
		require.NoError(t, yaml.UnmarshalStrict([]byte(out), &v))
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return v, text
	}
	first, one := build(folder)
	again, two := build(folder)
	assert.Equal(t, first, again)
	assert.True(t, bytes.Equal(one, two), "bit by bit")
	assert.Regexp(t, `^registry.example.org/web@sha256:[0-9a-f]{64}$`, first.Spec.Image)
	assert.Equal(t, "shop", first.Namespace)
	assert.Equal(t, folder, first.Spec.Origin.Source)
	program, err := convert.ToVersion(&first)
	require.NoError(t, err)
	input, err := program.Freeze("deploy", map[string]any{"host": "a"}, nil)
	require.NoError(t, err)
	assert.Equal(t, "eu", input.Parameters["region"])

	require.NoError(t, os.WriteFile(filepath.Join(folder, "more"), nil, 0o600))
	other, _ := build(folder)
	assert.NotEqual(t, first.Name, other.Name, "another content is another version")

	code, out, errs := call("", "job", "template", "dockerfile", folder, "-f", kinds)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "FROM registry.example.org/script@sha256:4bc453b53cb3d914b45f4b250294236adba2c0e09ff6f03793949e7e39fd4cc1\n"+
		"COPY . /work/\nWORKDIR /work\nUSER 65532:65532\n")
}

func TestTemplateBuildRefuses(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a"), nil, 0o600))
	linked := t.TempDir()
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(linked, "a")))
	kinds := write(t, "kinds.yaml", templateKinds)
	kind, child, _ := strings.Cut(templateKinds, "---")
	tests := map[string]struct {
		why, errs string
		args      []string
	}{
		"NoFile":   {"nothing is known", "the flag --file is missing", []string{folder}},
		"NoType":   {"only a template", "there is no JobTemplateType script in", []string{folder, "-f", write(t, "child.yaml", child)}},
		"None":     {"only a type", "there is no JobTemplate in", []string{folder, "-f", write(t, "kind.yaml", kind)}},
		"Two":      {"which one?", "JobTemplate web is a second one", []string{folder, "-f", kinds, "-f", kinds}},
		"Field":    {"a slip", `unknown field "fix"`, []string{folder, "-f", write(t, "slip.yaml", strings.Replace(templateKinds, "fixed:", "fix:", 1))}},
		"Misfit":   {"the type refuses", "fixed: parameter \"region\" does not fit", []string{folder, "-f", write(t, "misfit.yaml", strings.Replace(templateKinds, "region: eu", "region: 1", 1))}},
		"NoName":   {"an image has a name", "the flag --image is missing", []string{folder, "-f", kinds}},
		"Base":     {"a file that is not there", "cannot get the image of type script: cannot read the image", []string{folder, "-f", kinds, "--image", "a.example/b", "--base", "none.tar", "--push"}},
		"Link":     {"it leads elsewhere", `cannot use "a": it is a symbolic link`, []string{linked, "-f", kinds, "--image", "a.example/b"}},
		"NoSource": {"a slip", "cannot fetch", []string{filepath.Join(folder, "none"), "-f", kinds}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, out, errs := call("", append([]string{"job", "template", "build"}, tc.args...)...)
			assert.Equal(t, 2, code, tc.why)
			assert.Empty(t, out, tc.why)
			assert.Contains(t, errs, tc.errs, tc.why)
		})
	}
}
