package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// local is the name before which images go that no registry holds; the
// manifests in deployment/ use it, so that what was just built can be imported and run.
const local = "localhost/orcon"

// readable reports whether the image of a binary has a copy of it in /tools, for other containers.
func readable(binaryName string) bool {
	return binaryName == "relation-agent" || binaryName == "job-runner"
}

// Image wraps a binary: alone in its image but for the licence, not as root. Who runs
// it cannot read it: the kernel therefore lets no process of the same user look into it,
// from its first instant (SAFETY.md I28, S4).
func Image(src Source, binaryName, file, version string) (v1.Image, error) {
	config := v1.Config{
		User:       nonRoot,
		Entrypoint: []string{"/" + binaryName},
		Labels:     labels(binaryName, version),
	}
	entries := []entry{
		{name: binaryName, file: file, mode: 0o711},
		{name: "licenses/LICENSE", file: filepath.Join(src.Root, "LICENSE"), mode: 0o644},
	}
	if readable(binaryName) {
		entries = append(entries, entry{name: "tools/" + binaryName, file: file, mode: 0o755})
	}
	image, err := pack(src.arch(), config, entries)
	if err != nil {
		return nil, fmt.Errorf("cannot make the image of %s: %w", binaryName, err)
	}
	return image, nil
}

// labels describe an image: as labels of its configuration, as annotations of its index.
func labels(binaryName, version string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    binaryName,
		"org.opencontainers.image.version":  version,
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.source":   homepage,
	}
}

// publish makes the image of a built binary and takes it where the order says.
func publish(ctx context.Context, src Source, binaryName, file string, o order, out io.Writer) error {
	if why := Imageless(binaryName); why != "" {
		return fmt.Errorf("%s has no image, since %s: use build/builder build %s", binaryName, why, binaryName)
	}
	image, err := Image(src, binaryName, file, src.Version(ctx))
	if err != nil {
		return err
	}
	return ship(ctx, src, image, binaryName, o, out)
}

// ship takes an image where the order says, under a name of its own.
func ship(ctx context.Context, src Source, image v1.Image, imageName string, o order, out io.Writer) error {
	if o.registry != "" {
		return push(ctx, image, o.registry+"/"+imageName+":"+o.tag, out)
	}
	target := o.tarball
	if target == "" {
		target = filepath.Join(src.Root, "dist", imageName+".tar")
	}
	return save(image, local+"/"+imageName+":"+o.tag, target, out)
}

// push sends the image to a registry. Loopback registries are spoken to without TLS.
func push(ctx context.Context, image v1.Image, reference string, out io.Writer) error {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return fmt.Errorf("cannot read the image's name: %w", err)
	}
	fmt.Fprintf(out, "pushing %s\n", ref)
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	if err := remote.Write(ref, image, options...); err != nil {
		return fmt.Errorf("cannot push %s (is the registry reachable, and did you 'docker login'?): %w", ref, err)
	}
	digest, err := image.Digest()
	if err != nil {
		return fmt.Errorf("cannot compute the digest of %s: %w", ref, err)
	}
	fmt.Fprintf(out, "pushed %s@%s\n", ref, digest)
	return nil
}

// save writes the image as a tarball that 'ctr images import' and 'docker load'
// read. A half-written tarball never takes the place of a whole one.
func save(image v1.Image, reference, target string, out io.Writer) error {
	tag, err := name.NewTag(reference)
	if err != nil {
		return fmt.Errorf("cannot read the image's name: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("cannot make a place for the tarball: %w", err)
	}
	// A name of its own: two builds beside each other must not share it.
	part, err := os.CreateTemp(filepath.Dir(target), filepath.Base(target)+".part-*")
	if err != nil {
		return fmt.Errorf("cannot write beside %s: %w", target, err)
	}
	defer os.Remove(part.Name()) //nolint:errcheck // it is gone where all went well
	err = errors.Join(tarball.Write(tag, image, part), part.Chmod(0o644), part.Close())
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", target, err)
	}
	if err := os.Rename(part.Name(), target); err != nil {
		return fmt.Errorf("cannot put %s in its place: %w", target, err)
	}
	fmt.Fprintf(out, "wrote %s (%s): %s\n", target, size(target), tag)
	fmt.Fprintf(out, "  import it into a node: ctr -n k8s.io images import %s\n", target)
	return nil
}
