package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// image makes the image of a binary for every platform of Linux: one index, as an OCI layout
// in a tar, and in the registry if the order says so.
func (r *release) image(ctx context.Context, binaryName string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.linux() {
		file, err := r.compile(ctx, binaryName, p)
		if err != nil {
			return err
		}
		image, err := imageFor(r.src, p, binaryName, file)
		if err != nil {
			return err
		}
		at := v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: at})
	}
	index, annotated := mutate.Annotations(index, labels(binaryName, r.src.Stamp)).(v1.ImageIndex)
	if !annotated {
		return fmt.Errorf("cannot annotate the image of %s", binaryName)
	}
	reference := r.reference(binaryName)
	if err := r.layout(index, binaryName, reference); err != nil {
		return err
	}
	if !r.o.push {
		return nil
	}
	return r.push(ctx, index, reference)
}

// imageFor makes the image of a binary that was compiled for a platform.
func imageFor(src Source, p platform, binaryName, file string) (v1.Image, error) {
	src.Arch = p.arch
	return Image(src, binaryName, file, src.Stamp)
}

// reference is the name that an image of the release has in a registry.
func (r *release) reference(binaryName string) string {
	registry := r.o.registry
	if registry == "" {
		registry = local
	}
	return registry + "/" + binaryName + ":" + r.o.tag
}

// layout writes an index as an OCI layout in a tar, under its reference: ctr images import
// reads it, and so do skopeo and crane.
func (r *release) layout(index v1.ImageIndex, binaryName, reference string) error {
	folder, err := os.MkdirTemp(r.work, binaryName+"-*")
	if err != nil {
		return fmt.Errorf("cannot make a folder: %w", err)
	}
	to, err := layout.Write(folder, empty.Index)
	if err == nil {
		err = to.AppendIndex(index, layout.WithAnnotations(map[string]string{
			"io.containerd.image.name":          reference,
			"org.opencontainers.image.ref.name": r.o.tag,
		}))
	}
	if err != nil {
		return fmt.Errorf("cannot write the image of %s: %w", binaryName, err)
	}
	entries, err := filesIn(folder, "")
	if err != nil {
		return fmt.Errorf("cannot write the image of %s: %w", binaryName, err)
	}
	content, err := archive(entries)
	if err != nil {
		return err
	}
	return r.write(filepath.Base(r.name(binaryName, "oci.tar")), content)
}

// push sends an index and its images to the registry.
func (r *release) push(ctx context.Context, index v1.ImageIndex, reference string) error {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return fmt.Errorf("cannot read the image's name: %w", err)
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if err := remote.WriteIndex(ref, index, options...); err != nil {
		return fmt.Errorf("cannot push %s (is the registry reachable, and did you 'docker login'?): %w", ref, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return fmt.Errorf("cannot compute the digest of %s: %w", ref, err)
	}
	fmt.Fprintf(r.out, "pushed %s@%s\n", ref, digest)
	return nil
}
