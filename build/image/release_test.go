package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// three are platforms enough to see every kind of file.
const three = "linux/amd64,linux/arm64,windows/amd64"

// releasable lays out a small repository with a server, a command line and a chart.
func releasable(t *testing.T) Source {
	t.Helper()
	src := source(t)
	require.NoError(t, os.RemoveAll(filepath.Join(src.Root, "cmd", "broken")))
	for file, text := range map[string]string{
		"go.mod":                "module gitlab.ilabt.imec.be/tengu/orcon\n\ngo 1.26\n",
		"deployment/builtin.go": "package deployment\n\nvar registry, tag string\n\nfunc Images() string { return registry + \":\" + tag }\n",
		"cmd/orcon/main.go": "package main\n\nimport \"gitlab.ilabt.imec.be/tengu/orcon/deployment\"\n\n" +
			"var version string\n\nfunc main() { print(version, \" \", deployment.Images()) }\n",
		"build/chart/main.go": "package main\n\nimport \"os\"\n\nfunc main() {\n\tfolder := os.Args[len(os.Args)-1]\n" +
			"\tos.WriteFile(folder+\"/Chart.yaml\", []byte(\"version: \"+os.Args[2]), 0o600)\n}\n",
	} {
		path := filepath.Join(src.Root, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return src
}

// contents returns the files of a folder.
func contents(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		all[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name()))
		require.NoError(t, err)
	}
	return all
}

// Two runs, in two folders, give the same bytes.
func TestReleaseIsReproducible(t *testing.T) {
	var all []map[string][]byte
	for range 2 {
		src := releasable(t)
		args := []string{"release", "--version", "v1.2.3-rc.4", "--platforms", three}
		require.NoError(t, run(t.Context(), src, args, io.Discard))
		all = append(all, contents(t, filepath.Join(src.Root, "dist", "release")))
		beside, err := os.ReadDir(filepath.Join(src.Root, "dist"))
		require.NoError(t, err)
		assert.Len(t, beside, 1, "nothing half-written is left")
	}
	names := func(files map[string][]byte) (all []string) {
		for name := range files {
			all = append(all, name)
		}
		slices.Sort(all)
		return all
	}
	assert.Equal(t, []string{
		"SHA256SUMS", "orcon-1.2.3-rc.4.tgz", "orcon.yaml",
		"orcon_1.2.3-rc.4_linux_amd64.cdx.json", "orcon_1.2.3-rc.4_linux_amd64.tar.gz",
		"orcon_1.2.3-rc.4_linux_arm64.cdx.json", "orcon_1.2.3-rc.4_linux_arm64.tar.gz",
		"orcon_1.2.3-rc.4_windows_amd64.cdx.json", "orcon_1.2.3-rc.4_windows_amd64.zip",
		"provenance.intoto.json",
		"small_1.2.3-rc.4_linux_amd64.cdx.json", "small_1.2.3-rc.4_linux_arm64.cdx.json", "small_1.2.3-rc.4_oci.tar",
	}, names(all[0]))
	for name, content := range all[0] {
		assert.True(t, bytes.Equal(content, all[1][name]), "%s depends on where or when it was made", name)
	}
}

func TestReleaseHoldsItsVersion(t *testing.T) {
	src := releasable(t)
	var said bytes.Buffer
	args := []string{
		"release", "--version", "1.2.3-rc.4", "--platforms", three,
		"--registry", "r.example.org/team", "--url", "https://d.example.org/",
	}
	require.NoError(t, run(t.Context(), src, args, &said))
	assert.Contains(t, said.String(), "6/6 building small for linux/arm64", "progress says how far it is")
	folder := filepath.Join(src.Root, "dist", "release")
	files := contents(t, folder)

	sums := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	sums.Dir = folder
	out, err := sums.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Len(t, strings.Split(strings.TrimSpace(string(out)), "\n"), len(files)-1, "every file has a checksum")

	var provenance struct {
		PredicateType string
		Subject       []struct {
			Name   string
			Digest map[string]string
		}
	}
	require.NoError(t, json.Unmarshal(files[provenanceFile], &provenance))
	assert.Equal(t, "https://slsa.dev/provenance/v1", provenance.PredicateType)
	assert.Len(t, provenance.Subject, len(files)-2, "every file but itself and the checksums")
	for _, s := range provenance.Subject {
		assert.Equal(t, fmt.Sprintf("%x", sha256.Sum256(files[s.Name])), s.Digest["sha256"], s.Name)
	}

	assert.Equal(t, map[string]string{"orcon/Chart.yaml": "version: 1.2.3-rc.4"}, unpacked(t, files["orcon-1.2.3-rc.4.tgz"]))
	assertRuns(t, files["orcon_1.2.3-rc.4_linux_amd64.tar.gz"], "v1.2.3-rc.4 r.example.org/team:v1.2.3-rc.4")
	zipFile := files["orcon_1.2.3-rc.4_windows_amd64.zip"]
	windows, err := zip.NewReader(bytes.NewReader(zipFile), int64(len(zipFile)))
	require.NoError(t, err)
	require.Len(t, windows.File, 2)
	assert.Equal(t, "orcon.exe", windows.File[0].Name)

	plugin := string(files["orcon.yaml"])
	assert.Contains(t, plugin, "version: v1.2.3-rc.4\n")
	assert.Contains(t, plugin, "uri: https://d.example.org/orcon_1.2.3-rc.4_windows_amd64.zip\n")
	assert.Contains(t, plugin, fmt.Sprintf("sha256: %x\n      bin: orcon.exe", sha256.Sum256(zipFile)))

	require.NoError(t, run(t.Context(), src, append(args, "small"), io.Discard), "a release is replaced")
	assert.NotContains(t, contents(t, folder), "orcon.yaml", "only what was named")
}

// unpacked returns the files of a compressed tar.
func unpacked(t *testing.T, content []byte) map[string]string {
	t.Helper()
	decompressed, err := gzip.NewReader(bytes.NewReader(content))
	require.NoError(t, err)
	all := map[string]string{}
	for r := tar.NewReader(decompressed); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		if header.Typeflag == tar.TypeReg {
			all[header.Name] = string(text)
		}
	}
}

// assertRuns runs the command line of an archive, which knows its version and where the images
// are that it installs.
func assertRuns(t *testing.T, content []byte, want string) {
	t.Helper()
	files := unpacked(t, content)
	assert.Contains(t, files, "LICENSE")
	program := filepath.Join(t.TempDir(), "orcon")
	require.NoError(t, os.WriteFile(program, []byte(files["orcon"]), 0o700))
	out, err := exec.CommandContext(t.Context(), program).CombinedOutput()
	require.NoError(t, err)
	assert.Equal(t, want, string(out))
}

// An image is one index for both architectures: as a file, and pushed.
func TestReleasedImages(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	src := releasable(t)
	host := strings.TrimPrefix(server.URL, "http://")
	args := []string{"release", "small", "--version", "v1.2.3-rc.4", "--push", "--registry", host + "/team"}
	require.NoError(t, run(t.Context(), src, args, io.Discard))

	folder := t.TempDir()
	saved := filepath.Join(src.Root, "dist", "release", "small_1.2.3-rc.4_oci.tar")
	require.NoError(t, exec.CommandContext(t.Context(), "tar", "xf", saved, "-C", folder).Run())
	path, err := layout.FromPath(folder)
	require.NoError(t, err)
	top, err := path.ImageIndex()
	require.NoError(t, err)
	manifest, err := top.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 1)
	assert.Equal(t, host+"/team/small:v1.2.3-rc.4", manifest.Manifests[0].Annotations["io.containerd.image.name"])
	loaded, err := top.ImageIndex(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	ref, err := name.ParseReference(host + "/team/small:v1.2.3-rc.4")
	require.NoError(t, err)
	pushed, err := remote.Index(ref)
	require.NoError(t, err)
	for _, index := range []v1.ImageIndex{loaded, pushed} {
		assertIndex(t, index)
	}
}

func assertIndex(t *testing.T, index v1.ImageIndex) {
	t.Helper()
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	assert.Equal(t, "v1.2.3-rc.4", manifest.Annotations["org.opencontainers.image.version"])
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		image, err := index.Image(m.Digest)
		require.NoError(t, err)
		config, err := image.ConfigFile()
		require.NoError(t, err)
		assert.Equal(t, "v1.2.3-rc.4", config.Config.Labels["org.opencontainers.image.version"])
		assert.Equal(t, m.Platform.Architecture, config.Architecture)
	}
	assert.Equal(t, []string{"linux/amd64", "linux/arm64"}, platforms)
}

// A bill of materials names all modules that Go linked in.
func TestBillOfMaterials(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	text, err := bom(program, "this", "v1.2.3-rc.4")
	require.NoError(t, err)
	again, err := bom(program, "this", "v1.2.3-rc.4")
	require.NoError(t, err)
	assert.Equal(t, string(text), string(again))
	var d document
	require.NoError(t, json.Unmarshal(text, &d))
	assert.Equal(t, "CycloneDX 1.6", d.Format+" "+d.Spec)
	assert.Regexp(t, `^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, d.SerialNumber)
	assert.Equal(t, "v1.2.3-rc.4", d.Metadata.Component.Version)
	var found []string
	for _, c := range d.Components {
		found = append(found, c.Name)
		assert.True(t, strings.HasPrefix(c.Purl, "pkg:golang/"+c.Name+"@"), c.Purl)
	}
	assert.Contains(t, found, "std")
	assert.Contains(t, found, "github.com/google/go-containerregistry")
}

func TestReleasesAreRefused(t *testing.T) {
	occupied := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(occupied, "thesis.txt"), nil, 0o600))
	const rc = "v1.0.0-rc.1"
	tests := map[string]struct {
		why  string
		args []string
		want string
	}{
		"NoVersion":    {why: "a version cannot be guessed", args: nil, want: "MAJOR.MINOR.PATCH-rc.NUMBER"},
		"Final":        {why: "trust is not done", args: []string{"--version", "v1.0.0"}, want: rc},
		"FinalReason":  {why: "the reason is told", args: []string{"--version", "1.0.0"}, want: "trust"},
		"NoVersionEnd": {why: "Helm and Go want three numbers", args: []string{"--version", "v1.0-rc.1"}, want: `"v1.0-rc.1"`},
		"OtherEnd":     {why: "one kind of candidate", args: []string{"--version", "v1.0.0-beta.1"}, want: `"v1.0.0-beta.1"`},
		"Platform":     {why: "both halves are needed", args: []string{"--version", rc, "--platforms", "linux"}, want: "linux/arm64"},
		"Folder":       {why: "files of others are never deleted", args: []string{"--version", rc, "--folder", occupied}, want: "not a release's"},
		"PushWhere":    {why: "localhost is no registry", args: []string{"--version", rc, "--push"}, want: "--registry"},
		"UnknownName":  {why: "the names that would work are the cure", args: []string{"--version", rc, "nothing"}, want: "orcon small"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			src := releasable(t)
			err := run(t.Context(), src, append([]string{"release"}, tc.args...), io.Discard)
			require.ErrorContains(t, err, tc.want, tc.why)
			assert.NoDirExists(t, filepath.Join(src.Root, "dist", "release"), "a release is there as a whole or not at all")
		})
	}
	assert.FileExists(t, filepath.Join(occupied, "thesis.txt"))
}
