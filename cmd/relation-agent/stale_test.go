package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/stream/streamtest"
)

// Without a controller, a pod whose author allows it starts after ten seconds with the copy that the kubelet serves, and has
// live data as soon as the controller answers (TRUST.md A1).
func TestAPodStartsWithACopyWithoutAController(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	controller.Stop()
	p := newPod(t, controller.Address(), authority.PEM())
	p.env = append(p.env, "ORCON_GATE=stale")
	require.NoError(t, os.Mkdir(filepath.Join(p.root, "identity", "..data"), 0o755))
	require.NoError(t, os.Symlink("..data/stale.json", filepath.Join(p.root, "identity", "stale.json"))) // as the kubelet does
	p.put("identity/..data/stale.json", `{"relations":[{"relation":"uid-7","id":7,"endpoint":"db","interface":"db","provider":"db-endpoint","data":{"host":"db.tengu.io"}}]}`)
	p.start()
	began := time.Now()
	require.NoError(t, <-p.wait())
	assert.GreaterOrEqual(t, time.Since(began), 9*time.Second)
	assert.Equal(t, "db.tengu.io", p.read("bindings/db/host"))
	assert.Equal(t, "ORCON_ENV_FILES='1'\nORCON_STALE='true'\nDB='db.tengu.io'\nDB_HOST='db.tengu.io'\n", p.read("run/env"))
	assert.Contains(t, p.status(), "a copy: the controller has not answered")

	controller.Say(database(2, "db2.tengu.io"))
	controller.Start(authority)
	p.eventually("live data", func() bool {
		return p.read("bindings/db/host") == "db2.tengu.io" && !strings.Contains(p.read("run/env"), "ORCON_STALE")
	})
}
