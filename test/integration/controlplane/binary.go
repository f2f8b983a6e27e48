package controlplane

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Binary builds one of Orcon's binaries as it is shipped, unless it is up to date, and
// returns its path.
func Binary(t testing.TB, name string) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(root, "build", "builder"), "build", name).CombinedOutput()
	if err != nil {
		t.Fatalf("cannot build %s: %v: %s", name, err, out)
	}
	return filepath.Join(root, "bin", name)
}
