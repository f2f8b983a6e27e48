// Package image writes container images as docker archives, which
// `cluster load` and any container engine can read.
//
// Reading images, and registries, must not come in.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"runtime"
)

// Image is an image of one layer.
type Image struct {
	// Name is how pods name it, for instance localhost/pause:latest.
	Name string
	// Entrypoint is what a container runs by default.
	Entrypoint []string
	// User is the numeric user and group, root if empty.
	User string
	// Programs maps paths in the image to files of the host; all are
	// executable.
	Programs map[string]string
	// Links maps paths in the image to the path each is a symbolic link to.
	Links map[string]string
}

// Write makes the archive.
func Write(file string, i Image) error {
	layer, err := i.layer()
	if err != nil {
		return fmt.Errorf("cannot make image %s: %w", i.Name, err)
	}
	configuration, err := json.Marshal(i.configuration(layer))
	if err != nil {
		return fmt.Errorf("cannot describe image %s: %w", i.Name, err)
	}
	manifest, err := json.Marshal([]manifest{{Config: "config.json", RepoTags: []string{i.Name}, Layers: []string{"layer.tar"}}})
	if err != nil {
		return fmt.Errorf("cannot describe image %s: %w", i.Name, err)
	}
	archive := newArchive()
	archive.file("config.json", configuration, 0o644)
	archive.file("layer.tar", layer, 0o644)
	archive.file("manifest.json", manifest, 0o644)
	data, err := archive.bytes()
	if err != nil {
		return fmt.Errorf("cannot make image %s: %w", i.Name, err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return fmt.Errorf("cannot write image %s: %w", i.Name, err)
	}
	return nil
}

// manifest is docker's list of what an archive holds.
type manifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// configuration describes the image as OCI does.
type configuration struct {
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Config       execution `json:"config"`
	RootFS       rootFS    `json:"rootfs"`
}

type execution struct {
	Entrypoint []string `json:"Entrypoint,omitempty"`
	User       string   `json:"User,omitempty"`
	Env        []string `json:"Env,omitempty"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"` //nolint:tagliatelle // the format's own spelling
}

func (i Image) configuration(layer []byte) configuration {
	digest := sha256.Sum256(layer)
	return configuration{
		Architecture: runtime.GOARCH,
		OS:           "linux",
		Config: execution{
			Entrypoint: i.Entrypoint, User: i.User, Env: []string{"PATH=/usr/bin:/bin"},
		},
		RootFS: rootFS{Type: "layers", DiffIDs: []string{"sha256:" + hex.EncodeToString(digest[:])}},
	}
}

func (i Image) layer() ([]byte, error) {
	a := newArchive()
	a.folder("tmp", 0o1777)
	for name, source := range i.Programs {
		data, err := os.ReadFile(source)
		if err != nil {
			return nil, fmt.Errorf("cannot read program: %w", err)
		}
		a.parents(name)
		a.file(name, data, 0o755)
	}
	for name, target := range i.Links {
		a.parents(name)
		a.link(name, target)
	}
	return a.bytes()
}

// archive is a tar archive; its first failure is kept for the end.
type archive struct {
	buffer  *bytes.Buffer
	writer  *tar.Writer
	folders map[string]bool
	err     error
}

func newArchive() *archive {
	buffer := &bytes.Buffer{}
	return &archive{buffer: buffer, writer: tar.NewWriter(buffer), folders: map[string]bool{"/": true, ".": true}}
}

func (a *archive) file(name string, data []byte, mode int64) {
	a.add(&tar.Header{Typeflag: tar.TypeReg, Name: relative(name), Mode: mode, Size: int64(len(data))}, data)
}

func (a *archive) link(name, target string) {
	a.add(&tar.Header{Typeflag: tar.TypeSymlink, Name: relative(name), Linkname: target, Mode: 0o777}, nil)
}

func (a *archive) folder(name string, mode int64) {
	a.folders[name] = true
	a.add(&tar.Header{Typeflag: tar.TypeDir, Name: relative(name) + "/", Mode: mode}, nil)
}

// parents adds the folders above a path, once each.
func (a *archive) parents(name string) {
	above := path.Dir(name)
	if a.folders[above] {
		return
	}
	a.parents(above)
	a.folder(above, 0o755)
}

func (a *archive) add(header *tar.Header, data []byte) {
	if a.err == nil {
		a.err = a.writer.WriteHeader(header)
	}
	if a.err == nil {
		_, a.err = a.writer.Write(data)
	}
}

func (a *archive) bytes() ([]byte, error) {
	if a.err != nil {
		return nil, fmt.Errorf("cannot archive: %w", a.err)
	}
	if err := a.writer.Close(); err != nil {
		return nil, fmt.Errorf("cannot finish archive: %w", err)
	}
	return a.buffer.Bytes(), nil
}

// relative is how archives name paths.
func relative(name string) string {
	return path.Clean("./" + name)
}
