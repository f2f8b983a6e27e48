package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// Source is the repository that is built.
type Source struct {
	// Root is the repository's top folder.
	Root string
	// Arch is the machine the binaries are for, in Go's words; unset means this one's.
	Arch string
}

// Names returns the binaries that can be built, sorted: the folders of cmd/.
func (s Source) Names() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.Root, "cmd"))
	if err != nil {
		return nil, fmt.Errorf("cannot list the binaries: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// without lists the binaries that have no image, each with the reason. test/arch
// reads it too: every other binary is shipped as one.
//
//go:embed without
var without string

// Imageless says why a binary has no image; empty for one that has.
func Imageless(binaryName string) string {
	for line := range strings.Lines(without) {
		if name, why, _ := strings.Cut(strings.TrimSpace(line), ": "); name == binaryName {
			return why
		}
	}
	return ""
}

// Build compiles cmd/NAME to bin/NAME and returns the file's path. The result
// is static and depends on source, Go version and architecture alone, not on where or
// when it was built.
func (s Source) Build(ctx context.Context, name string, out io.Writer) (string, error) {
	names, err := s.Names()
	if err != nil {
		return "", err
	}
	if !slices.Contains(names, name) {
		return "", fmt.Errorf("no binary %q; there are: %s", name, strings.Join(names, " "))
	}
	file := filepath.Join(s.Root, "bin", name)
	end, err := turn(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	defer end()
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X main.version="+s.Version(ctx), "-o", file, "./cmd/"+name)
	cmd.Dir = s.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+s.arch())
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cannot build %s: %w", name, err)
	}
	return file, nil
}

// turn waits until no other process builds into a folder, so that nobody finds half a file
// there. What is up to date is not written again.
func turn(folder string) (end func(), err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("cannot build: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(folder, ".turn"), os.O_CREATE|os.O_RDWR, 0o644)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot wait for others who build: %w", err)
	}
	return func() { _ = f.Close() }, nil
}

// Version names the source: the nearest tag and what was added to it, or
// "development" where git does not say.
func (s Source) Version(ctx context.Context) string {
	cmd := exec.CommandContext(ctx, "git", "describe", "--always", "--tags", "--dirty")
	cmd.Dir = s.Root
	text, err := cmd.Output()
	if err != nil || len(text) == 0 {
		return "development"
	}
	return strings.TrimSpace(string(text))
}

func (s Source) arch() string {
	if s.Arch == "" {
		return runtime.GOARCH
	}
	return s.Arch
}

// size says how big a file is, for people.
func size(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return "size unknown"
	}
	return fmt.Sprintf("%.1f MiB", float64(info.Size())/(1<<20))
}
