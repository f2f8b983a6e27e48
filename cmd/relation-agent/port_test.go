package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/stream/streamtest"
)

// listens returns the TCP addresses at which a process listens, as the kernel writes them.
func listens(t *testing.T, process int) []string {
	t.Helper()
	sockets, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", process))
	require.NoError(t, err)
	own := map[string]bool{}
	for _, descriptor := range sockets {
		target, _ := os.Readlink(descriptor)
		if inode, is := strings.CutPrefix(target, "socket:["); is {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	var at []string
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", process, table))
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); fields[3] == "0A" && own[fields[9]] {
				at = append(at, fields[1])
			}
		}
	}
	return at
}

// TRUST.md R7: an agent listens at no port, unless the pod asks for its metrics.
func TestAgentOpensNoPort(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	controller.Say(database(1, "db.tengu.io"))
	for _, port := range []string{"", freePort(t)} {
		p := newPod(t, controller.Address(), authority.PEM())
		if port != "" {
			p.env = append(p.env, "ORCON_METRICS_ADDRESS=:"+port)
		}
		p.start()
		require.NoError(t, <-p.wait(), "it works")
		p.eventually("it has begun to serve", func() bool { return strings.Contains(p.log.String(), "connected to the controller") })
		if port == "" {
			assert.Empty(t, listens(t, p.cmd.Process.Pid))
			continue
		}
		p.eventually("the port that was asked for", func() bool { return len(listens(t, p.cmd.Process.Pid)) == 1 })
	}
}
