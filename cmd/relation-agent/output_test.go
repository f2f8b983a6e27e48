package main_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/stream/streamtest"
)

// A tool whose output cannot be written fails, as in Juju: else relation-get into a file of a full disk leaves a part of the
// data, and the handler takes that for all of it (RELATIONS.md "Tools in the workload").
func TestToolWhoseOutputIsLostFails(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	controller.Say(database(1, "db.tengu.io"))
	p := newPod(t, controller.Address(), authority.PEM())
	p.start()
	p.eventually("the tool works", func() bool { return p.command("tool", "relation-ids", "db").Run() == nil })
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { _ = full.Close() }()
	cmd := p.command("tool", "relation-ids", "db")
	cmd.Stdout = full
	_ = cmd.Run()
	assert.Equal(t, 1, cmd.ProcessState.ExitCode())
	assert.Equal(t, 1, strings.Count(p.log.String(), "ERROR cannot write the output: "), p.log.String())
}
