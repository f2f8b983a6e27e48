package oci

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/egress"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Image is an image that can be pushed or written into a file.
type Image struct {
	image v1.Image
	// Digest is the manifest's: sha256:….
	Digest string
}

// newImage returns an image with its digest.
func newImage(image v1.Image) (Image, error) {
	digest, err := image.Digest()
	if err != nil {
		return Image{}, fmt.Errorf("cannot read the image: %w", failure(err))
	}
	return Image{image, digest.String()}, nil
}

// Base returns an image of a registry, whose layers are not fetched before they are needed. It takes the image for
// linux/amd64 from an index.
func (c Client) Base(ctx context.Context, r bundle.Reference) (Image, error) {
	image, _, err := c.image(ctx, r)
	if err != nil {
		return Image{}, err
	}
	return newImage(image)
}

// ReadImage returns an image from a file that docker save writes, or from a folder in OCI layout.
func ReadImage(path string) (Image, error) {
	if strings.HasSuffix(path, ".tar") {
		image, err := tarball.ImageFromPath(path, nil)
		if err != nil {
			return Image{}, fmt.Errorf("cannot read the image from %s: %w", path, err)
		}
		return newImage(image)
	}
	index, err := layout.ImageIndexFromPath(path)
	if err != nil {
		return Image{}, fmt.Errorf("cannot read the image from %s: %w", path, err)
	}
	manifest, err := index.IndexManifest()
	if err == nil && len(manifest.Manifests) != 1 {
		err = fmt.Errorf("it has %d images: use a layout of one", len(manifest.Manifests))
	}
	if err != nil {
		return Image{}, fmt.Errorf("cannot read the image from %s: %w", path, err)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		return Image{}, fmt.Errorf("cannot read the image from %s: %w", path, err)
	}
	return newImage(image)
}

// Addition describes a layer that is appended to an image.
type Addition struct {
	// Pack writes the files as a tar archive, always with the same bytes.
	Pack func(out io.Writer) error
	// Folder is the working directory, and User the user of the program.
	Folder, User string
}

// Append returns an image with one layer more. Equal images and contents give equal images, bit by bit (JOBS.md J16).
func (i Image) Append(c Addition) (Image, error) {
	var packed bytes.Buffer
	if err := c.Pack(&packed); err != nil {
		return Image{}, err
	}
	kind, err := i.image.MediaType()
	if err != nil {
		return Image{}, fmt.Errorf("cannot read the base image: %w", failure(err))
	}
	layerType := types.DockerLayer
	if kind == types.OCIManifestSchema1 {
		layerType = types.OCILayer
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(layerType), tarball.WithCompressedCaching,
		tarball.WithCompressionLevel(gzip.BestSpeed))
	if err != nil {
		return Image{}, fmt.Errorf("cannot make the layer: %w", err)
	}
	image, err := mutate.Append(i.image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: time.Unix(0, 0)}, CreatedBy: "COPY . " + c.Folder + "/"},
	})
	if err != nil {
		return Image{}, fmt.Errorf("cannot append the layer: %w", failure(err))
	}
	file, err := image.ConfigFile()
	if err != nil {
		return Image{}, fmt.Errorf("cannot read the base image: %w", failure(err))
	}
	config := file.Config
	config.WorkingDir, config.User = c.Folder, c.User
	if image, err = mutate.Config(image, config); err != nil {
		return Image{}, fmt.Errorf("cannot set the configuration: %w", err)
	}
	return newImage(image)
}

// Push stores an image in a repository, under its digest and a tag, and returns NAME@sha256:…. Layers that the repository
// has are not sent.
func (c Client) Push(ctx context.Context, i Image, repository, tag string) (string, error) {
	to, err := name.NewTag(repository + ":" + tag)
	if err != nil {
		return "", fmt.Errorf("cannot push to %s: %w", repository, err)
	}
	base := c.Transport
	if base == nil {
		base = remote.DefaultTransport
	}
	err = remote.Write(to, i.image, remote.WithContext(ctx), remote.WithAuth(c.authenticator()), remote.WithTransport(egress.Private(base)),
		remote.WithRetryBackoff(remote.Backoff{Duration: c.Pause, Factor: 3, Jitter: 0.1, Steps: 3}))
	if err != nil {
		return "", fmt.Errorf("cannot push to %s: %w", repository, failure(err))
	}
	return repository + "@" + i.Digest, nil
}

// Write writes an image as a file that docker load and ctr image import read, with a name: NAME:TAG.
func (i Image) Write(out io.Writer, named string) error {
	tag, err := name.NewTag(named)
	if err != nil {
		return fmt.Errorf("cannot name the image: %w", err)
	}
	return tarball.Write(tag, i.image, out)
}
