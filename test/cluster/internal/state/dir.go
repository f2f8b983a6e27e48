// Package state is what one cluster leaves on disk: the layout of its folder
// and the record from which any process can end it, also after a crash.
//
// What starts or ends a process must not come in.
package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

// maxDir is the longest folder name for which the Unix sockets below it fit
// the kernel's limit of 108 bytes.
const maxDir = 80

// ErrNoCluster says that there is no cluster in the folder.
var ErrNoCluster = errors.New("no such cluster")

// validName keeps a name usable as a file name, a host name and a label.
var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// Dir is the folder of one cluster. All that a cluster writes is below it.
type Dir string

// DirFor returns the default folder of the cluster with this name.
func DirFor(name string) (Dir, error) {
	if !validName.MatchString(name) {
		return "", fmt.Errorf("cannot use cluster name %q: it must be 1 to 40 lower-case letters, digits and dashes", name)
	}
	return Dir(filepath.Join(os.TempDir(), "orcon-cluster-"+name)), nil
}

// ParseDir makes path absolute and refuses one too long for Unix sockets.
func ParseDir(path string) (Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("cannot use folder %q: %w", path, err)
	}
	if len(abs) > maxDir {
		return "", fmt.Errorf("cannot use folder %q: Unix sockets need a name of at most %d bytes; choose a shorter --dir or TMPDIR", abs, maxDir)
	}
	return Dir(abs), nil
}

// Create makes the folder for its owner alone. It fails with fs.ErrExist if
// anything has that name, so that nobody can plant a folder in a shared /tmp.
func (d Dir) Create() error {
	if err := os.Mkdir(string(d), 0o700); err != nil {
		return fmt.Errorf("cannot create cluster folder: %w", err)
	}
	return nil
}

// CheckOwner returns ErrNoCluster if the folder does not exist and an error if
// another user owns it: its record names processes to kill.
func (d Dir) CheckOwner() error {
	info, err := os.Lstat(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot find a cluster in %s: %w", d, ErrNoCluster)
	}
	if err != nil {
		return fmt.Errorf("cannot look at cluster folder: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("cannot use %s: it is not a folder of user %d; run as the user who made the cluster", d, os.Geteuid())
	}
	return nil
}

// Node is the folder of what the nth node has for itself, which the first has in the cluster's.
// Its name is short for the sake of sockets.
func (d Dir) Node(n int) Dir {
	if n == 1 {
		return d
	}
	return Dir(d.Path(fmt.Sprintf("n%d", n)))
}

// Path joins elements below the folder.
func (d Dir) Path(elements ...string) string {
	return filepath.Join(append([]string{string(d)}, elements...)...)
}

// Kubeconfig is the administrator's kubeconfig.
func (d Dir) Kubeconfig() string { return d.Path("kubeconfig") }

// Log is where a component's output goes.
func (d Dir) Log(component string) string { return d.Path("logs", component+".log") }

// Audit is the API server's audit log, one JSON event a line.
func (d Dir) Audit() string { return d.Path("audit.log") }

// Control is the supervisor's Unix socket.
func (d Dir) Control() string { return d.Path("control.sock") }

// PKI is a file among the certificates and keys.
func (d Dir) PKI(file string) string { return d.Path("pki", file) }

// Programs is the folder to put in PATH; it has kubectl.
func (d Dir) Programs() string { return d.Path("bin") }

// Program is the path under which a component is run.
func (d Dir) Program(name string) string { return d.Path("bin", name) }
