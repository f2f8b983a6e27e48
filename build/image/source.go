package main

import (
	"cmp"
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

// manifests is the package that holds the manifests which orcon installs.
const manifests = "gitlab.ilabt.imec.be/tengu/orcon/deployment"

// Source is the repository that is built.
type Source struct {
	// Root is the repository's top folder.
	Root string
	// Arch is the machine the binaries are for, in Go's words; unset means this one's.
	Arch string
	// OS is the operating system they are for; unset means linux.
	OS string
	// Stamp is the version of a release, which binaries and images carry; unset means what git
	// describes.
	Stamp string
	// Registry is where the images of a release are, for the command line that installs them.
	Registry string
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

// Build compiles cmd/NAME to bin/NAME and returns the file's path.
func (s Source) Build(ctx context.Context, name string, out io.Writer) (string, error) {
	file := filepath.Join(s.Root, "bin", name)
	end, err := turn(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	defer end()
	return file, s.compile(ctx, name, file, out)
}

// compile compiles cmd/NAME to a file. The result is static and depends on source, Go
// version, platform and version alone, not on where or when it was built.
func (s Source) compile(ctx context.Context, name, file string, out io.Writer) error {
	names, err := s.Names()
	if err != nil {
		return err
	}
	if !slices.Contains(names, name) {
		return fmt.Errorf("no binary %q; there are: %s", name, strings.Join(names, " "))
	}
	return s.link(ctx, "cmd/"+name, file, out)
}

// link compiles the program of a folder to a file.
func (s Source) link(ctx context.Context, folder, file string, out io.Writer) error {
	flags := "-s -w -X main.version=" + s.Version(ctx)
	if s.Stamp != "" {
		flags += " -X " + manifests + ".tag=" + s.Stamp + " -X " + manifests + ".registry=" + s.Registry
	}
	arguments := slices.Concat([]string{"build"}, compileFlags(), []string{"-ldflags", flags, "-o", file, "./" + folder})
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Dir = s.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+cmp.Or(s.OS, "linux"), "GOARCH="+s.arch())
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cannot build %s: %w", filepath.Base(folder), err)
	}
	return nil
}

// compileFlags returns the flags of every build, as in scripts/lib.sh: all share one cache.
func compileFlags() []string {
	return []string{"-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false"}
}

// turn waits until no other process builds into a folder, so that none reads an incomplete
// file there. A binary that is up to date is not written again.
func turn(folder string) (end func(), err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("cannot build: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(folder, ".turn"), os.O_CREATE|os.O_RDWR, 0o644)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot wait for the other build: %w", err)
	}
	return func() { _ = f.Close() }, nil
}

// Version names the source: its stamp, else the nearest tag and what was added to it, or
// "development" where git does not know.
func (s Source) Version(ctx context.Context) string {
	if s.Stamp != "" {
		return s.Stamp
	}
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
