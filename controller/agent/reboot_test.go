package agent

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// reboot empties the volumes in memory, as a reboot of the node does.
func (v volumes) reboot(t *testing.T) {
	for _, volume := range []string{"bindings", "run"} {
		require.NoError(t, os.RemoveAll(v.path(volume)))
		require.NoError(t, os.Mkdir(v.path(volume), 0o750))
	}
}

// A reboot of the node takes the files of a pod, and with them what no disk has. Containers start again when the data of
// required endpoints is back (INJECTION.md I16, SAFETY.md S1, D4). What the disk has needs no controller (I19).
func TestRebootWaitsForTheData(t *testing.T) {
	tests := map[string]struct {
		why      string
		consumes string
		revision int64 // of the granted Secret; 0 for none
		lose     func(t *testing.T, v volumes, first *wire.Snapshot)
		open     bool
	}{
		"Remembered": {why: "all of it is on the disk", consumes: "db:pg", open: true},
		"Granted":    {why: "a granted Secret is on no disk", consumes: "db:pg", revision: 1},
		"Optional":   {why: "what is optional is not waited for", consumes: "db:pg?", revision: 1, open: true},
		"Databag": {why: "the disk has lost the databag", consumes: "db:pg", lose: func(t *testing.T, v volumes, first *wire.Snapshot) {
			require.NoError(t, os.Remove(v.path("state", "bags-1", databag.Version(first.Relations[0].Bag.Data))))
		}},
		"Memory": {why: "the disk has lost all", consumes: "db:pg", lose: func(t *testing.T, v volumes, _ *wire.Snapshot) {
			require.NoError(t, os.Truncate(v.path("state", "memory.0"), 5))
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v := newVolumes(t, t.TempDir())
			a := New(settings(t, test.consumes, "db=password"), v.disk(), &controller{content: adminContent("hunter2")}, nil)
			a.Start()
			first := grants(1, test.revision)
			hear(a, first)
			require.True(t, a.isOpen())
			v.reboot(t)
			disk := v.disk()
			if test.lose != nil {
				test.lose(t, v, first)
			}
			again := New(settings(t, test.consumes, "db=password"), disk, &controller{content: adminContent("hunter3")}, nil)
			again.Start()
			assert.Equal(t, test.open, again.isOpen(), test.why)
			assert.Equal(t, test.open, disk.Opened.Exists())
			hear(again, grants(2, test.revision))
			assert.True(t, again.isOpen())
			if test.revision > 0 {
				assert.Equal(t, grantedFiles("hunter3"), v.tree(t)["db"])
				assert.Contains(t, v.env(t), "DB_PASSWORD='hunter3'\n")
			}
			runtime.KeepAlive(a)
		})
	}
}
