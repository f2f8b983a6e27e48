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
	entries, err := localBusybox(ctx)
	if err != nil {
		return err
	}
	image, err := pack(runtime.GOARCH, v1.Config{Env: []string{"PATH=/bin"}, Cmd: []string{"sh"}}, entries)
	if err != nil {
		return fmt.Errorf("cannot make the busybox image: %w", err)
	}
	target := o.tarball
	if target == "" {
		target = filepath.Join("dist", "busybox.tar")
	}
	return save(image, busyboxReference, target, out)
}

// localBusybox returns the files of this machine's static busybox.
func localBusybox(ctx context.Context) ([]entry, error) {
	file, err := exec.LookPath("busybox")
	if err != nil {
		return nil, fmt.Errorf("no busybox here; install it: apt-get install --no-install-recommends busybox-static: %w", err)
	}
	applets, err := exec.CommandContext(ctx, file, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list the commands of %s: %w", file, err)
	}
	return busyboxFiles(file, strings.Fields(string(applets))), nil
}

// busyboxFiles lays busybox out as its users expect it: every command a link in /bin.
func busyboxFiles(file string, applets []string) []entry {
	entries := []entry{{name: "bin/busybox", file: file, mode: 0o755}}
	for _, applet := range applets {
		if applet != "busybox" {
			entries = append(entries, entry{name: "bin/" + applet, target: "busybox"})
		}
	}
	return entries
}
