package shim

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The kernel counts what it kills for lack of memory, in files of two kinds.
func TestKills(t *testing.T) {
	for label, tc := range map[string]struct {
		text string
		want int
	}{
		"Version2": {"low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\noom_group_kill 0\n", 2},
		"Version1": {"oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", 1},
		"Older":    {"oom_kill_disable 0\nunder_oom 0\n", 0},
	} {
		t.Run(label, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "events")
			require.NoError(t, os.WriteFile(file, []byte(tc.text), 0o600))
			assert.Equal(t, tc.want, memory{[]string{"/none", file}}.kills())
		})
	}
}
