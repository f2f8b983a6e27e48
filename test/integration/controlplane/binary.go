package controlplane

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// builds has for each binary what builds it, once for all tests of a process.
var builds sync.Map //nolint:gochecknoglobals // what is done once

// Binary builds one of Orcon's binaries as it is shipped, unless it is up to date, and
// returns its path.
func Binary(t testing.TB, name string) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	once, _ := builds.LoadOrStore(name, sync.OnceValue(func() error {
		if out, err := command(filepath.Join(root, "build", "builder"), "build", name); err != nil {
			return fmt.Errorf("cannot build %s: %w: %s", name, err, out)
		}
		return nil
	}))
	if err := once.(func() error)(); err != nil { //nolint:forcetypeassert // it is what was stored
		t.Fatal(err)
	}
	return filepath.Join(root, "bin", name)
}
