package controlplane

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// OldestSupported returns a folder with the sources of the oldest commit whose objects and programs are supported
// (TRUST.md A6).
func OldestSupported(t testing.TB) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	commit, err := os.ReadFile(filepath.Join(root, "test", "skew", "oldest-supported"))
	if err != nil {
		t.Fatal(err)
	}
	return Sources(t, strings.TrimSpace(string(commit)))
}

// Sources returns a folder with the sources of a commit.
func Sources(t testing.TB, commit string) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	dir, packed := t.TempDir(), filepath.Join(t.TempDir(), "sources.tar")
	for _, line := range [][]string{
		{"git", "-C", root, "archive", "--output=" + packed, commit}, {"tar", "-xf", packed, "-C", dir},
	} {
		if out, err := command(line[0], line[1:]...); err != nil {
			t.Fatalf("the history of the repository must have commit %s: %v: %s", commit, err, out)
		}
	}
	return dir
}

// Built builds a program of a folder with sources, and returns its path.
func Built(t testing.TB, sources, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "./cmd/"+name)
	build.Dir = sources
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build %s: %v: %s", name, err, out)
	}
	return program
}
