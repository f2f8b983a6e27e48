package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// debianSuite is where packages come from.
const debianSuite = "bookworm"

// debianTrims are hooks that leave out what no container reads: documents,
// translations, and the compiler that PostgreSQL can do without. The user that
// containers run as has a name, which some programs insist on.
func debianTrims() []string {
	return []string{
		`rm -rf "$1"/usr/share/doc "$1"/usr/share/man "$1"/usr/share/locale "$1"/usr/share/info "$1"/var/cache/apt "$1"/var/lib/apt/lists`,
		`find "$1"/usr/lib -name 'libLLVM*' -delete`,
		`printf 'root:x:0:0:root:/:/bin/sh\nnobody:x:65532:65532::/tmp:/bin/sh\n' >"$1"/etc/passwd`,
		`printf 'root:x:0:\nnobody:x:65532:\n' >"$1"/etc/group`,
	}
}

// packDebian makes an image of Debian packages and what they depend on: their
// files, as they are in the packages, without their installation scripts.
func packDebian(ctx context.Context, o order, out io.Writer) error {
	if len(o.packages) == 0 || len(o.names) != 1 {
		return fmt.Errorf("name one image, and its packages: build/builder debian NAME --packages A,B: %w", errUsage)
	}
	program, err := exec.LookPath("mmdebstrap")
	if err != nil {
		return fmt.Errorf("no mmdebstrap here; install it: apt-get install --no-install-recommends mmdebstrap: %w", err)
	}
	folder, err := os.MkdirTemp("", "orcon-image-*")
	if err != nil {
		return fmt.Errorf("cannot make a folder: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // of the temporary folder
	root := filepath.Join(folder, "root.tar")
	fmt.Fprintf(out, "unpacking %s of Debian %s\n", strings.Join(o.packages, ", "), debianSuite)
	args := []string{"--quiet", "--variant=extract", "--include=" + strings.Join(o.packages, ",")}
	for _, trim := range debianTrims() {
		args = append(args, "--extract-hook="+trim)
	}
	if said, err := exec.CommandContext(ctx, program, append(args, debianSuite, root)...).CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("cannot unpack the packages: %w: are their names right, and is Debian's archive in reach?", err), errors.New(strings.TrimSpace(string(said))))
	}
	image, err := rootImage(root)
	if err != nil {
		return err
	}
	return saveTemplate(image, o, out)
}

// rootImage is an image of one layer: the tar of a root folder.
func rootImage(root string) (v1.Image, error) {
	layer, err := tarball.LayerFromFile(root, tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("cannot make the layer: %w", err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("cannot add the layer: %w", err)
	}
	return describe(image, runtime.GOARCH, v1.Config{
		User: nonRoot, Cmd: []string{"/bin/sh"},
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
	})
}
