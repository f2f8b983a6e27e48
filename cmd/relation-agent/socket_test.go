package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/stream/streamtest"
)

// The tools of a container work as soon as the folder of their socket can be made (SAFETY.md I19).
func TestToolsOfAVolumeThatComesBack(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	p := newPod(t, controller.Address(), authority.PEM())
	p.env = append(p.env, "ORCON_TOOLS=main")
	require.NoError(t, os.Mkdir(filepath.Join(p.root, "tools"), 0o755))
	require.NoError(t, os.Remove(filepath.Join(p.root, "run")))
	p.start()
	p.eventually("it says so", func() bool { return strings.Contains(p.log.String(), "cannot listen for container main") })
	require.NoError(t, os.Mkdir(filepath.Join(p.root, "run"), 0o755))
	p.eventually("it listens", func() bool {
		_, err := os.Stat(filepath.Join(p.root, "run", "sockets", "main", "agent.sock"))
		return err == nil
	})
}
