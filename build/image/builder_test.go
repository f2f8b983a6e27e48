package main

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// source lays out a small repository with one binary, which prints its version.
func source(t *testing.T) Source {
	t.Helper()
	root := t.TempDir()
	for file, text := range map[string]string{
		"go.mod":             "module example.org/small\n\ngo 1.26\n",
		"LICENSE":            "Do as you please.\n",
		"cmd/small/main.go":  "package main\n\nvar version string\n\nfunc main() { print(version) }\n",
		"cmd/broken/main.go": "package main\n\nfunc main() { nonsense() }\n",
	} {
		path := filepath.Join(root, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return Source{Root: root}
}

func TestBuildIsTheSameEverywhere(t *testing.T) {
	var binaries, tarballs [][]byte
	for range 2 {
		src := source(t)
		require.NoError(t, run(t.Context(), src, []string{"publish", "small"}, io.Discard))
		binary, err := os.ReadFile(filepath.Join(src.Root, "bin", "small"))
		require.NoError(t, err)
		image, err := os.ReadFile(filepath.Join(src.Root, "dist", "small.tar"))
		require.NoError(t, err)
		binaries, tarballs = append(binaries, binary), append(tarballs, image)
	}
	assert.True(t, bytes.Equal(binaries[0], binaries[1]), "the binary depends on where it was built")
	assert.True(t, bytes.Equal(tarballs[0], tarballs[1]), "the image depends on when or where it was made")
}

func TestBuildIsStaticAndRuns(t *testing.T) {
	src := source(t)
	require.NoError(t, run(t.Context(), src, []string{"build", "small"}, io.Discard))
	out, err := exec.CommandContext(t.Context(), filepath.Join(src.Root, "bin", "small")).CombinedOutput()
	require.NoError(t, err)
	assert.Equal(t, "development", string(out), "the version was not linked in")
	assert.NoFileExists(t, filepath.Join(src.Root, "dist", "small.tar"), "build makes no image")
}

func TestPublishToTarball(t *testing.T) {
	src := source(t)
	target := filepath.Join(t.TempDir(), "new", "image.tar")
	require.NoError(t, run(t.Context(), src, []string{"publish", "small", "--tag", "v1", "--tarball", target}, io.Discard))

	tag, err := name.NewTag("localhost/orcon/small:v1")
	require.NoError(t, err)
	image, err := tarball.ImageFromPath(target, &tag)
	require.NoError(t, err, "the tarball does not hold the image under its name")
	assertSmall(t, image)
	beside, err := os.ReadDir(filepath.Dir(target))
	require.NoError(t, err)
	assert.Len(t, beside, 1, "nothing half-written is left")
}

func TestPublishToRegistry(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	src := source(t)
	host := strings.TrimPrefix(server.URL, "http://")
	var said bytes.Buffer
	require.NoError(t, run(t.Context(), src, []string{"publish", "--registry", host + "/team", "--tag", "v1", "small"}, &said))

	ref, err := name.ParseReference(host + "/team/small:v1")
	require.NoError(t, err)
	image, err := remote.Image(ref)
	require.NoError(t, err)
	assertSmall(t, image)
	digest, err := image.Digest()
	require.NoError(t, err)
	assert.Contains(t, said.String(), "pushed "+ref.String()+"@"+digest.String())
}

// assertSmall checks what a cluster relies on: user, entrypoint, and nothing in
// the image but the binary and its licence.
func assertSmall(t *testing.T, image v1.Image) {
	t.Helper()
	config, err := image.ConfigFile()
	require.NoError(t, err)
	assert.Equal(t, "65532:65532", config.Config.User)
	assert.Equal(t, []string{"/small"}, config.Config.Entrypoint)
	assert.Equal(t, "linux", config.OS)
	var files bytes.Buffer
	require.NoError(t, crane.Export(image, &files))
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "tar", "xpf", "-", "-C", dir)
	cmd.Stdin = &files
	require.NoError(t, cmd.Run())
	var names []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, dir))
		}
		return err
	}))
	assert.Equal(t, []string{"/licenses/LICENSE", "/small"}, names)
	assert.NoError(t, exec.CommandContext(t.Context(), filepath.Join(dir, "small")).Run(), "the image's binary does not run")
	info, err := os.Stat(filepath.Join(dir, "small"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o711), info.Mode(), "SAFETY.md I28: who runs it cannot read it")
}

func TestBuildForAnotherMachine(t *testing.T) {
	src := source(t)
	src.Arch = "arm64"
	require.NoError(t, run(t.Context(), src, []string{"publish", "small"}, io.Discard))
	image, err := tarball.ImageFromPath(filepath.Join(src.Root, "dist", "small.tar"), nil)
	require.NoError(t, err)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	assert.Equal(t, "arm64", config.Architecture)
}

func TestBusybox(t *testing.T) {
	file := filepath.Join(t.TempDir(), "busybox")
	require.NoError(t, os.WriteFile(file, []byte("not really"), 0o755))
	image, err := pack("amd64", v1.Config{}, busyboxFiles(file, []string{"busybox", "sh", "sleep"}))
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"bin", "bin/busybox", "bin/sh", "bin/sleep"}, files(t, image))
}

// A template's image is that of its tool, with the content in /work.
func TestTemplateContent(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "modules"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "modules", "main.tf"), nil, 0o600))
	file := filepath.Join(folder, "modules", "main.tf")
	tool, err := pack("amd64", v1.Config{User: nonRoot}, []entry{{name: "bin/tofu", file: file, mode: 0o755}})
	require.NoError(t, err)
	o := order{names: []string{"network"}, tag: "v1", tarball: filepath.Join(t.TempDir(), "network.tar"), content: folder}
	require.NoError(t, saveTemplate(tool, o, io.Discard))
	tag, err := name.NewTag("localhost/orcon/network:v1")
	require.NoError(t, err)
	image, err := tarball.ImageFromPath(o.tarball, &tag)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"bin", "bin/tofu", "work", "work/modules", "work/modules/main.tf"}, files(t, image))
	config, err := image.ConfigFile()
	require.NoError(t, err)
	assert.Equal(t, nonRoot, config.Config.User)

	o.content = filepath.Join(folder, "none")
	require.ErrorContains(t, saveTemplate(tool, o, io.Discard), "cannot read the content")
	require.ErrorContains(t, run(t.Context(), source(t), []string{"opentofu", "a", "b"}, io.Discard), "name one image: build/builder opentofu NAME")
}

// The image of conformance has its program and content, and no user: each executor makes one (JOBS.md J15).
func TestConformance(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "conformance.tar")
	require.NoError(t, run(t.Context(), Source{Root: root}, []string{"conformance", "--tarball", file}, io.Discard))
	image, err := tarball.ImageFromPath(file, nil)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"conformance", "work", "work/content"}, files(t, image))
}

// An installer is orcon and a folder, and is told no more than what the deployment is.
func TestInstaller(t *testing.T) {
	src := source(t)
	require.NoError(t, os.MkdirAll(filepath.Join(src.Root, "cmd/orcon"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(src.Root, "cmd/orcon/main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600))
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "base"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "base", "web.yaml"), []byte("a: b\n"), 0o600))
	require.NoError(t, run(t.Context(), src, []string{"installer", "shop", "--manifests", folder, "--tag", "v1"}, io.Discard))
	tag, err := name.NewTag("localhost/orcon/shop:v1")
	require.NoError(t, err)
	image, err := tarball.ImageFromPath(filepath.Join(src.Root, "dist", "shop.tar"), &tag)
	require.NoError(t, err)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	assert.Equal(t, []string{"/orcon", "install", "/manifests", "--yes"}, config.Config.Entrypoint)
	assert.Equal(t, nonRoot, config.Config.User)
	assert.ElementsMatch(t, []string{"orcon", "licenses", "licenses/LICENSE", "manifests", "manifests/base", "manifests/base/web.yaml"}, files(t, image))

	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(folder, "link.yaml")))
	require.ErrorContains(t, run(t.Context(), src, []string{"installer", "shop", "--manifests", folder}, io.Discard), "link.yaml is not a regular file")
	require.ErrorContains(t, run(t.Context(), src, []string{"installer", "shop", "--manifests", "nowhere"}, io.Discard), "nowhere")
}

// files lists what an image holds.
func files(t *testing.T, image v1.Image) []string {
	t.Helper()
	var packed bytes.Buffer
	require.NoError(t, crane.Export(image, &packed))
	cmd := exec.CommandContext(t.Context(), "tar", "tf", "-")
	cmd.Stdin = &packed
	out, err := cmd.Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}

func TestMistakesAreNamed(t *testing.T) {
	tests := map[string]struct {
		why  string
		args []string
		want string
	}{
		"NoName":        {why: "nothing to build is a mistake, not a success", args: []string{"build"}, want: "--all"},
		"UnknownName":   {why: "the names that would work are the cure", args: []string{"build", "smal"}, want: "broken small"},
		"UnknownVerb":   {why: "the verbs that would work are the cure", args: []string{"bild", "small"}, want: "build, publish, busybox, conformance, debian, opentofu, installer, chart and release"},
		"UnknownFlag":   {why: "a mistyped flag must not be ignored", args: []string{"publish", "small", "--tga", "v1"}, want: "-tga"},
		"TwoPlaces":     {why: "one image goes to one place", args: []string{"publish", "small", "--tarball", "x", "--registry", "r"}, want: "exclude"},
		"ManyInOne":     {why: "one tarball would be written twice", args: []string{"publish", "--all", "--tarball", "x"}, want: "2 were named"},
		"DoesNotBuild":  {why: "which binary failed must be clear", args: []string{"build", "broken"}, want: "cannot build broken"},
		"NoManifests":   {why: "an installer of nothing", args: []string{"installer", "small"}, want: "--manifests FOLDER"},
		"NoRegistry":    {why: "the likely causes are named", args: []string{"publish", "small", "--registry", "127.0.0.1:1"}, want: "docker login"},
		"BadImageName":  {why: "names are lower case", args: []string{"publish", "small", "--registry", "UPPER/x y"}, want: "image's name"},
		"NoPlaceToSave": {why: "a path through a file cannot be made", args: []string{"publish", "small", "--tarball", "/dev/null/x"}, want: "place for the tarball"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			err := run(t.Context(), source(t), tc.args, io.Discard)
			require.Error(t, err, tc.why)
			assert.ErrorContains(t, err, tc.want, tc.why)
		})
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"publish", "-h"}} {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), source(t), args, &out))
		assert.Contains(t, out.String(), "build/builder publish NAME")
		assert.Contains(t, out.String(), "broken small", "help names the binaries")
	}
}

// A command line is built and has no image: --all leaves it out, and who asks for
// it is told why.
func TestBinariesWithoutImage(t *testing.T) {
	src := source(t)
	require.NoError(t, os.RemoveAll(filepath.Join(src.Root, "cmd", "broken")))
	orcon := filepath.Join(src.Root, "cmd", "orcon")
	require.NoError(t, os.MkdirAll(orcon, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(orcon, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600))
	require.NoError(t, run(t.Context(), src, []string{"publish", "--all"}, io.Discard))
	assert.FileExists(t, filepath.Join(src.Root, "bin", "orcon"))
	assert.FileExists(t, filepath.Join(src.Root, "dist", "small.tar"))
	assert.NoFileExists(t, filepath.Join(src.Root, "dist", "orcon.tar"))
	assert.ErrorContains(t, run(t.Context(), src, []string{"publish", "orcon"}, io.Discard), "orcon has no image, since people run it")
}
