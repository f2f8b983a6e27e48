package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// look starts a binary five times as this user and looks into it from the very
// beginning: it prints what it could see. The variable is there only once the binary
// runs, and so is the name.
const look = `
top=root
for start in 1 2 3 4 5; do
  (TOKEN=seen exec "$1" -root /nonexistent wait) 2>/dev/null &
  pid=$! polls=0
  while [ $polls -lt 300 ]; do
    polls=$((polls + 1)) environ= name=
    { read -r environ < /proc/$pid/environ; } 2>/dev/null
    case "$environ" in *TOKEN=seen*) echo environ ;; esac
    read -r name < /proc/$pid/comm
    if [ "$name" = relation-agent ] && [ -e /proc/$pid/$top/. ]; then echo root; fi
  done
  echo "looked at $name"
  kill $pid; wait $pid || true
done 2>/dev/null`

// As its image has it, mode 0711 and root's, nobody of the agent's own user can look into
// it, from its first instant (SAFETY.md I28, S4). Of a copy that can be read anybody could.
func TestNobodyLooksIntoTheAgent(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // another user goes there
	program, err := os.ReadFile(binary)
	require.NoError(t, err)
	seen := func(mode os.FileMode) string {
		path := filepath.Join(dir, "relation-agent")
		require.NoError(t, os.WriteFile(path, program, 0o700))
		require.NoError(t, os.Chmod(path, mode))
		cmd := exec.Command("sh", "-c", look, "sh", path)
		cmd.Dir = "/"
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		}
		out, err := cmd.Output()
		require.NoError(t, err)
		require.Equal(t, 5, strings.Count(string(out), "looked at relation-agent\n"), "it ran each time: %s", out)
		require.NoError(t, os.Remove(path))
		return strings.ReplaceAll(string(out), "looked at relation-agent\n", "")
	}
	hidden := os.FileMode(0o711)
	if os.Getuid() != 0 {
		hidden = 0o111 // it is this user's own
	}
	assert.Empty(t, seen(hidden))
	readable := seen(0o755)
	assert.Contains(t, readable, "environ\n", "else the test could not fail")
	assert.Contains(t, readable, "root\n")
}
