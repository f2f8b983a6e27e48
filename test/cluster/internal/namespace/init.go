package namespace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

const (
	// unified is where version 2 of control groups is mounted beside version 1.
	unified = "/sys/fs/cgroup/unified"
	// resolver is the file whose content a node must have for itself.
	resolver = "/etc/resolv.conf"
	// nameserver makes programs of the node ask the cluster's DNS.
	nameserver = "nameserver 198.18.128.10\nsearch svc.cluster.local cluster.local\noptions ndots:5\n"
)

// hidden are the host's folders that a node sees empty or as a private copy,
// so that no path in them is shared with the host or another node.
var hidden = []string{"/run", "/var/lib", "/var/log"} //nolint:gochecknoglobals // a constant list

// errHidden says that a cluster's folder would not be seen by its node.
var errHidden = errors.New("a node sees a private copy of that folder; choose another --dir or TMPDIR")

// Host is the nth node's name, inside and in Kubernetes.
func Host(n int) string {
	if n == 1 {
		return "orcon-node"
	}
	return fmt.Sprintf("orcon-node-%d", n)
}

// CheckDir refuses a folder that the node would not see.
func CheckDir(d state.Dir) error {
	for _, folder := range hidden {
		if strings.HasPrefix(string(d), folder+"/") {
			return fmt.Errorf("cannot use %s below %s: %w", d, folder, errHidden)
		}
	}
	return nil
}

// Init is process 1 of the node with this folder and name: it sets up what only a process inside can, says so, and
// then reaps orphans until it is killed.
func Init(ctx context.Context, d state.Dir, host string) error {
	steps := []func(state.Dir) error{separateMounts, oneCgroupVersion, hideFolders, ownResolver, shareMounts}
	for _, step := range steps {
		if err := step(d); err != nil {
			return err
		}
	}
	if err := setKernel(host); err != nil {
		return err
	}
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	fmt.Println(settled)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-children:
			reap()
		}
	}
}

func reap() {
	for {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}

// separateMounts makes later mounts invisible to the host, and /proc show the
// node's processes.
func separateMounts(state.Dir) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot separate mounts: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("cannot mount /proc: %w", err)
	}
	return nil
}

// oneCgroupVersion takes away the second hierarchy of a machine that has both versions of
// control groups: crun refuses such a hybrid.
func oneCgroupVersion(state.Dir) error {
	err := unix.Unmount(unified, unix.MNT_DETACH)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot unmount %s: %w", unified, err)
	}
	return nil
}

// hideFolders gives the node an empty /run and private copies of the folders
// where kubelet, containerd and network plugins have fixed paths.
func hideFolders(d state.Dir) error {
	target, err := filepath.EvalSymlinks(resolver)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot find %s: %w", resolver, err)
	}
	if err := mountTmpfs("/run"); err != nil {
		return err
	}
	if strings.HasPrefix(target, "/run/") {
		if err := writeFile(target, ""); err != nil {
			return err
		}
	}
	private := d.Path("private")
	if err := os.MkdirAll(private, 0o700); err != nil {
		return fmt.Errorf("cannot make private folder: %w", err)
	}
	if err := mountTmpfs(private); err != nil {
		return err
	}
	for _, folder := range hidden[1:] {
		if err := mountCopy(folder, filepath.Join(private, filepath.Base(folder))); err != nil {
			return err
		}
	}
	return nil
}

func mountTmpfs(folder string) error {
	if err := unix.Mount("tmpfs", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("cannot mount an empty %s: %w", folder, err)
	}
	return nil
}

// mountCopy lays a writable layer, kept in store, over a folder.
func mountCopy(folder, store string) error {
	upper, work := filepath.Join(store, "upper"), filepath.Join(store, "work")
	for _, f := range []string{upper, work} {
		if err := os.MkdirAll(f, 0o755); err != nil {
			return fmt.Errorf("cannot copy %s: %w", folder, err)
		}
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", folder, upper, work)
	if err := unix.Mount("overlay", folder, "overlay", 0, options); err != nil {
		return fmt.Errorf("cannot mount a private copy of %s: %w", folder, err)
	}
	return nil
}

// ownResolver makes programs of the node ask the cluster's DNS and no other.
func ownResolver(d state.Dir) error {
	own := d.Path("resolv.conf")
	if err := writeFile(own, nameserver); err != nil {
		return err
	}
	err := unix.Mount(own, resolver, "", unix.MS_BIND, "")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot replace %s: %w", resolver, err)
	}
	return nil
}

// shareMounts lets containers see mounts that the kubelet makes later.
func shareMounts(state.Dir) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("cannot share mounts with containers: %w", err)
	}
	return nil
}

// setKernel sets what the namespaces have of their own.
func setKernel(host string) error {
	if err := unix.Sethostname([]byte(host)); err != nil {
		return fmt.Errorf("cannot set host name: %w", err)
	}
	return writeFile("/proc/sys/net/ipv4/ip_forward", "1")
}

func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return nil
}
