package foreign

import (
	"archive/zip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Module is a version of a Go module.
type Module struct{ Path, Version, Sum string }

// Unpack writes a folder of the module's archive into a folder of the test. A module for a newer Go is unpacked all the
// same.
func (m Module) Unpack(t testing.TB, folder string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", m.Path+"@"+m.Version)
	command.Dir = t.TempDir()   // outside of any module
	text, _ := command.Output() // a module for a newer Go is an error, and there all the same
	var found struct{ Zip, Sum, Error string }
	require.NoError(t, json.Unmarshal(text, &found))
	require.Equal(t, m.Sum, found.Sum, found.Error)
	archive, err := zip.OpenReader(found.Zip)
	require.NoError(t, err)
	defer archive.Close() //nolint:errcheck // it is only read
	to := t.TempDir()
	for _, f := range archive.File {
		if name, below := strings.CutPrefix(f.Name, m.Path+"@"+m.Version+"/"+folder+"/"); below {
			unpack(t, f, filepath.Join(to, filepath.FromSlash(name)))
		}
	}
	return to
}

// unpack writes a file of an archive.
func unpack(t testing.TB, f *zip.File, at string) {
	t.Helper()
	in, err := f.Open()
	require.NoError(t, err)
	defer in.Close() //nolint:errcheck // it is only read
	text, err := io.ReadAll(in)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
	require.NoError(t, os.WriteFile(at, text, 0o644))
}
