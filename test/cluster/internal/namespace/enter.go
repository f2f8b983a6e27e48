// Package namespace gives a node network, mount, process and host-name
// namespaces of its own. They live and die with one process, which is process 1
// of them: when it ends, the kernel ends every process in them and then the
// mounts and the network, so that nothing can be left behind.
//
// What runs in the namespaces must not come in.
package namespace

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// kinds are entered in this order: the files of a process cannot be opened any
// more once the mount namespace has another /proc.
var kinds = []string{"uts", "net", "pid", "mnt"} //nolint:gochecknoglobals // a constant list

// cloneFlags make those namespaces.
const cloneFlags = syscall.CLONE_NEWUTS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS

// Enter moves the calling thread to the namespaces of a process; the thread
// must be locked and never be used for other work. Of the process namespace
// only children of the thread take notice.
func Enter(pid int) error {
	// Threads share their working directory, which a mount namespace changes.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("cannot enter namespaces of process %d: %w", pid, err)
	}
	files := make([]*os.File, 0, len(kinds))
	for _, kind := range kinds {
		file, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
		if err != nil {
			return fmt.Errorf("cannot enter namespaces of process %d: %w", pid, err)
		}
		defer func() { _ = file.Close() }()
		files = append(files, file)
	}
	for i, file := range files {
		if err := unix.Setns(int(file.Fd()), 0); err != nil {
			return fmt.Errorf("cannot enter %s namespace of process %d: %w", kinds[i], pid, err)
		}
	}
	return nil
}
