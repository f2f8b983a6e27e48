package teardown

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

// cgroupRoot is where the hierarchies are mounted, on version 1 and 2 alike.
const cgroupRoot = "/sys/fs/cgroup"

// removeLink removes the host's end of the cable. The kernel would do so some
// time after the last process of the network namespace.
func removeLink(d state.Dir) error {
	if !hasLink(d) {
		return nil
	}
	// The kernel may be faster: only a link that is still there is a failure.
	if out, err := exec.Command("ip", "link", "delete", d.Link()).CombinedOutput(); err != nil && hasLink(d) {
		return fmt.Errorf("cannot remove network link %s: %w: %s", d.Link(), err, out)
	}
	return nil
}

func hasLink(d state.Dir) bool {
	_, err := net.InterfaceByName(d.Link())
	return err == nil
}

// removeCgroups ends what still runs in the cgroups of each node, in each
// hierarchy, and removes them, children first.
func removeCgroups(ctx context.Context, r state.Record) error {
	var failed []error
	for n := range r.Nodes {
		for _, root := range Cgroups(r.Dir.Node(n + 1)) {
			if _, err := os.Stat(root); err == nil {
				failed = append(failed, eventually(ctx, "cgroup "+root, func() bool { return removeCgroup(root) }))
			}
		}
	}
	return errors.Join(failed...)
}

// Cgroups returns the folders that a node's cgroup has, or would have: one
// in each version 1 hierarchy, or the one of version 2.
func Cgroups(d state.Dir) []string {
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		return []string{filepath.Join(cgroupRoot, d.Cgroup())}
	}
	hierarchies, err := filepath.Glob(filepath.Join(cgroupRoot, "*", "cgroup.procs"))
	if err != nil {
		return nil
	}
	found := make([]string, 0, len(hierarchies))
	for _, file := range hierarchies {
		found = append(found, filepath.Join(filepath.Dir(file), d.Cgroup()))
	}
	return found
}

// removeCgroup makes one attempt and says whether the cgroup is gone.
func removeCgroup(root string) bool {
	folders := []string{}
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return nil
	})
	for _, folder := range slices.Backward(folders) {
		killCgroup(folder)
		_ = syscall.Rmdir(folder)
	}
	_, err := os.Stat(root)
	return errors.Is(err, fs.ErrNotExist)
}

func killCgroup(folder string) {
	data, err := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(data)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// unmount lazily unmounts what lies below the folder. Mounts of a node end
// with its mount namespace, also while this goes through them: what is no mount any
// more (EINVAL) is what was wanted. This is for what a user mounted there.
func unmount(d state.Dir) error {
	mounts, err := mountsBelow(string(d))
	if err != nil {
		return err
	}
	var failed []error
	for _, mount := range slices.Backward(mounts) {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) {
			failed = append(failed, fmt.Errorf("cannot unmount %s: %w", mount, err))
		}
	}
	return errors.Join(failed...)
}

// mountsBelow returns mount points in the order they were made.
func mountsBelow(folder string) ([]string, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("cannot list mounts: %w", err)
	}
	defer func() { _ = file.Close() }()
	found := []string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 4 && strings.HasPrefix(fields[4], folder+"/") {
			found = append(found, fields[4])
		}
	}
	return found, lines.Err()
}
