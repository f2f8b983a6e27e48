package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// content is where an installer's image has its manifests.
const content = "manifests"

// packInstaller makes an image that installs a folder of manifests when it is run: orcon,
// and the folder.
func packInstaller(ctx context.Context, src Source, o order, out io.Writer) error {
	if len(o.names) != 1 || o.content == "" {
		return fmt.Errorf("name one image, and its folder: build/builder installer NAME --manifests FOLDER: %w", errUsage)
	}
	binary, err := src.Build(ctx, "orcon", out)
	if err != nil {
		return err
	}
	image, err := installerImage(src, binary, o.content)
	if err != nil {
		return err
	}
	return ship(ctx, src, image, o.names[0], o, out)
}

// installerImage puts orcon and a folder into an image. Its arguments are those of orcon
// install behind the source.
func installerImage(src Source, binary, folder string) (v1.Image, error) {
	entries := []entry{
		{name: "orcon", file: binary, mode: 0o755},
		{name: "licenses/LICENSE", file: filepath.Join(src.Root, "LICENSE"), mode: 0o644},
	}
	below, err := filesIn(folder, content)
	if err != nil {
		return nil, fmt.Errorf("cannot read the manifests: %w", err)
	}
	entries = append(entries, below...)
	return pack(src.arch(), v1.Config{User: nonRoot, Entrypoint: []string{"/orcon", "install", "/" + content, "--yes"}}, entries)
}
