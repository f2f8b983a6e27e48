package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nonRoot is the user that Orcon's processes run as; no user database is in the image.
const nonRoot = "65532:65532"

// entry is one file or, with a target, one symbolic link of an image. Entries
// have no owner but root and no time but the epoch, so that equal files give equal images.
type entry struct {
	name   string
	file   string
	target string
	mode   int64
}

// pack makes an image from scratch: entries in the order given, as one layer, and config.
func pack(arch string, config v1.Config, entries []entry) (v1.Image, error) {
	image, err := appended(empty.Image, entries)
	if err != nil {
		return nil, err
	}
	return describe(image, arch, config)
}

// appended returns an image with one more layer, of entries in the order given.
func appended(image v1.Image, entries []entry) (v1.Image, error) {
	content, err := archive(entries)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("cannot make the layer: %w", err)
	}
	image, err = mutate.AppendLayers(image, layer)
	if err != nil {
		return nil, fmt.Errorf("cannot add the layer: %w", err)
	}
	return image, nil
}

// describe gives an image its configuration.
func describe(image v1.Image, arch string, config v1.Config) (v1.Image, error) {
	described, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("cannot read the image's configuration: %w", err)
	}
	described = described.DeepCopy()
	described.OS, described.Architecture, described.Config = "linux", arch, config
	image, err = mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), types.OCIConfigJSON), described)
	if err != nil {
		return nil, fmt.Errorf("cannot describe the image: %w", err)
	}
	return image, nil
}

// archive writes the entries, and the folders above them, as a tar.
func archive(entries []entry) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	made := map[string]bool{".": true, "/": true}
	for _, e := range entries {
		if err := folder(w, path.Dir(e.name), made); err != nil {
			return nil, err
		}
		if err := e.write(w); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("cannot end the layer: %w", err)
	}
	return buf.Bytes(), nil
}

func folder(w *tar.Writer, name string, made map[string]bool) error {
	if made[name] {
		return nil
	}
	if err := folder(w, path.Dir(name), made); err != nil {
		return err
	}
	made[name] = true
	header := &tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, Format: tar.FormatPAX}
	if err := w.WriteHeader(header); err != nil {
		return fmt.Errorf("cannot add folder %s: %w", name, err)
	}
	return nil
}

func (e entry) write(w *tar.Writer) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Format: tar.FormatPAX}
	var content []byte
	if e.target != "" {
		header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, e.target, 0o777
	} else {
		var err error
		if content, err = os.ReadFile(e.file); err != nil {
			return fmt.Errorf("cannot read what goes into the image: %w", err)
		}
		header.Size = int64(len(content))
	}
	if err := w.WriteHeader(header); err != nil {
		return fmt.Errorf("cannot add %s: %w", e.name, err)
	}
	if _, err := w.Write(content); err != nil {
		return fmt.Errorf("cannot add %s: %w", e.name, err)
	}
	return nil
}
