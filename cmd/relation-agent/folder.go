package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/bindings"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/spool"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
)

// makeFolder makes a folder for a container of any user, and leaves the volume by no
// link (SAFETY.md I28).
func makeFolder(volume, name string) error {
	root, err := os.OpenRoot(volume)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return root.MkdirAll(name, 0o755)
}

// folder is where the agent's volumes are.
type folder string

func (f folder) path(parts ...string) string {
	return filepath.Join(append([]string{string(f)}, parts...)...)
}

func (f folder) socket() string { return f.path("run", "agent.sock") }

func (f folder) opened() bindings.File { return bindings.File{Path: f.path("run", "opened")} }

func (f folder) tools() bindings.File { return bindings.File{Path: f.path("tools", "installed")} }

func (f folder) env() bindings.File { return bindings.File{Path: f.path("run", "env")} }

// forget removes the files and the memory of an earlier start.
func (f folder) forget() error {
	volume := bindings.Volume{Path: f.path("bindings")}
	names, err := volume.Names()
	for _, name := range names {
		err = errors.Join(err, volume.Remove(name))
	}
	for _, path := range []string{
		f.opened().Path, f.env().Path, f.path("state", "opened"), f.path("state", "memory.0"), f.path("state", "memory.1"),
	} {
		if failed := os.Remove(path); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// spoolRoom is how many bytes of databags the agent has in memory. Few pods have more, so that few write files for them.
const spoolRoom = 256 << 10

// disk returns the agent's files. A databag that was kept and cannot be read ends the process: the next one throws away
// what is torn, and receives it anew.
func (f folder) disk() agent.Disk {
	volume := bindings.Volume{Path: f.path("bindings")}
	if err := volume.Clean(); err != nil {
		glog.Warningf("%v", err)
	}
	return agent.Disk{
		Bindings:   volume,
		Env:        f.env(),
		Opened:     f.opened(),
		Memory:     bindings.NewPair(f.path("state", "memory")),
		EverOpened: bindings.File{Path: f.path("state", "opened")},
		Told:       bindings.NewPair(f.path("state", "told")),
		Spool:      spool.New(f.path("state", "bags"), spoolRoom, func(err error) { glog.Exitf("%v", err) }),
		Signalled:  bindings.NewPair(f.path("state", "signalled")),
		// A link, as in each volume of the kubelet, which alone writes there.
		Copy: func() ([]byte, error) { return os.ReadFile(f.path("identity", "stale.json")) },
	}
}
