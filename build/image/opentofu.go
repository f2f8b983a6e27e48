package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The module that pins OpenTofu, and its program.
const (
	tofuModule  = "build/opentofu"
	tofuProgram = "github.com/opentofu/opentofu/cmd/tofu"
)

// packOpenTofu makes an image of OpenTofu, this machine's static busybox, and the content of a template.
func packOpenTofu(ctx context.Context, src Source, o order, out io.Writer) error {
	if len(o.names) != 1 {
		return fmt.Errorf("name one image: build/builder opentofu NAME --content FOLDER: %w", errUsage)
	}
	file := filepath.Join(src.Root, "bin", "tofu")
	end, err := turn(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer end()
	arguments := slices.Concat([]string{"build"}, compileFlags(), []string{"-ldflags", "-s -w", "-o", file, tofuProgram})
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Dir = filepath.Join(src.Root, tofuModule)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cannot build OpenTofu: %w", err)
	}
	shell, err := localBusybox(ctx)
	if err != nil {
		return err
	}
	config := v1.Config{User: nonRoot, Env: []string{"PATH=/usr/local/bin:/bin"}, Cmd: []string{"sh"}}
	image, err := pack(runtime.GOARCH, config, append(shell, entry{name: "usr/local/bin/tofu", file: file, mode: 0o755}))
	if err != nil {
		return fmt.Errorf("cannot make the image of OpenTofu: %w", err)
	}
	return saveTemplate(image, o, out)
}

// saveTemplate adds the content of a template to the image of its tool, and writes it.
func saveTemplate(image v1.Image, o order, out io.Writer) error {
	if o.content != "" {
		entries, err := filesIn(o.content, "work")
		if err != nil {
			return fmt.Errorf("cannot read the content: %w", err)
		}
		if image, err = appended(image, entries); err != nil {
			return err
		}
	}
	target := o.tarball
	if target == "" {
		target = filepath.Join("dist", o.names[0]+".tar")
	}
	return save(image, local+"/"+o.names[0]+":"+o.tag, target, out)
}
