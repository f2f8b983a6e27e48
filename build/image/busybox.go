package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// busyboxReference is the image that deployment/demo names. On a cluster with a
// registry at hand it comes from there; elsewhere this one stands in for it.
const busyboxReference = "docker.io/library/busybox:stable"

// packBusybox makes the demo's image from this machine's static busybox.
func packBusybox(ctx context.Context, o order, out io.Writer) error {
	file, err := exec.LookPath("busybox")
	if err != nil {
		return fmt.Errorf("no busybox here; install it: apt-get install --no-install-recommends busybox-static: %w", err)
	}
	applets, err := exec.CommandContext(ctx, file, "--list").Output()
	if err != nil {
		return fmt.Errorf("cannot ask %s for its commands: %w", file, err)
	}
	image, err := busyboxImage(file, strings.Fields(string(applets)))
	if err != nil {
		return err
	}
	target := o.tarball
	if target == "" {
		target = filepath.Join("dist", "busybox.tar")
	}
	return save(image, busyboxReference, target, out)
}

// busyboxImage lays busybox out as its users expect it: every command a link in /bin.
func busyboxImage(file string, applets []string) (v1.Image, error) {
	entries := []entry{{name: "bin/busybox", file: file, mode: 0o755}}
	for _, applet := range applets {
		if applet != "busybox" {
			entries = append(entries, entry{name: "bin/" + applet, target: "busybox"})
		}
	}
	config := v1.Config{Env: []string{"PATH=/bin"}, Cmd: []string{"sh"}}
	image, err := pack(runtime.GOARCH, config, entries)
	if err != nil {
		return nil, fmt.Errorf("cannot make the busybox image: %w", err)
	}
	return image, nil
}
