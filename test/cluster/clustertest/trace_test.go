package clustertest_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/clustertest"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

// traces tells what of one cluster is on the machine. Other clusters and other
// work may come and go at the same time, so that it looks for this cluster's
// own marks: its folder, its namespaces, its id.
type traces struct {
	dir string
	// ids are those of its nodes.
	ids        []string
	namespaces map[string]bool
	// until is when the cluster was ended, in hundredths of a second since the machine
	// began; 0 before. A namespace that began later may have the number of one that ended.
	until int64
}

// ends notes that the cluster is about to end.
func (tr *traces) ends(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Fatal(err)
	}
	var whole, hundredths int64
	if _, err := fmt.Sscanf(string(data), "%d.%d", &whole, &hundredths); err != nil {
		t.Fatalf("cannot read the uptime %q: %v", data, err)
	}
	tr.until = 100*whole + hundredths
}

// traceIn has the marks of a cluster that is not up.
func traceIn(dir string) traces { return traces{dir: dir, ids: []string{state.Dir(dir).ID()}} }

// traceOf learns a cluster's marks while it is up.
func traceOf(t *testing.T, c *clustertest.Cluster) traces {
	t.Helper()
	tr := traceIn(c.Dir)
	tr.namespaces = map[string]bool{}
	for n := 2; n <= len(c.Nodes); n++ {
		tr.ids = append(tr.ids, state.Dir(c.Dir).Node(n).ID())
	}
	record, err := os.ReadFile(filepath.Join(c.Dir, "cluster.json"))
	if err != nil || !strings.Contains(string(record), c.Dir) {
		t.Fatalf("cannot read the cluster's record: %v", err)
	}
	for _, init := range c.Nodes {
		inside := namespaceOf(init, "pid")
		for _, pid := range processes(t) {
			if namespaceOf(pid, "pid") == inside || descends(pid, init) {
				tr.namespaces[namespaceOf(pid, "net")] = true
				tr.namespaces[namespaceOf(pid, "mnt")] = true
				tr.namespaces[namespaceOf(pid, "pid")] = true
			}
		}
	}
	delete(tr.namespaces, unread) // a process may have ended meanwhile, and those of process 1 may not be read
	return tr
}

// found lists everything that bears the marks, by kind.
func (tr traces) found(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{"process": tr.findProcesses(t), "mount": tr.findMounts(t)}
	if _, err := os.Lstat(tr.dir); err == nil {
		all["folder"] = []string{tr.dir}
	}
	for _, i := range interfaces(t) {
		if i.Name == "orcon"+tr.ids[0] {
			all["link"] = append(all["link"], i.Name)
		}
	}
	for _, id := range tr.ids {
		for _, pattern := range []string{"/sys/fs/cgroup/orcon-", "/sys/fs/cgroup/*/orcon-"} {
			cgroups, _ := filepath.Glob(pattern + id)
			all["cgroup"] = append(all["cgroup"], cgroups...)
		}
	}
	return all
}

func (tr traces) findProcesses(t *testing.T) []string {
	t.Helper()
	found := []string{}
	for _, pid := range processes(t) {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		inside, later := false, tr.until != 0 && beginOf(pid) > tr.until
		for _, kind := range []string{"net", "mnt", "pid"} {
			inside = inside || tr.namespaces[namespaceOf(pid, kind)]
		}
		if inside && !later || names(string(command), tr.dir) && pid != os.Getpid() {
			found = append(found, fmt.Sprintf("%d %q", pid, command))
		}
	}
	return found
}

// names reports whether a text names a folder or a file in it. A folder with a longer name is another one: clusters are
// named after processes, and run-315 is not run-31510.
func names(text, dir string) bool {
	return regexp.MustCompile(regexp.QuoteMeta(dir) + `([^\w.-]|$)`).MatchString(text)
}

func TestNames(t *testing.T) {
	t.Parallel()
	const dir = "/tmp/orcon-cluster-run-315"
	for text, want := range map[string]bool{
		"etcd\x00--data-dir=" + dir + "/etcd\x00": true, "janitor\x00" + dir + "\x00315": true, "down --dir " + dir: true,
		"etcd\x00--data-dir=" + dir + "10/etcd\x00": false, dir + ".old": false, "etcd": false,
	} {
		if names(text, dir) != want {
			t.Errorf("%q names %s: want %v", text, dir, want)
		}
	}
}

// findMounts looks into the mount namespace of the tests, where none may be
// even while the cluster is up.
func (tr traces) findMounts(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(data), "\n"), func(line string) bool {
		return !names(line, tr.dir) && !strings.Contains(line, tr.ids[0])
	})
}

// assertPresent proves that the marks would be seen.
func (tr traces) assertPresent(t *testing.T, kinds ...string) {
	t.Helper()
	found := tr.found(t)
	for _, kind := range kinds {
		if len(found[kind]) == 0 {
			t.Errorf("no %s of the cluster seen while it is up: the check proves nothing", kind)
		}
	}
	if len(found["mount"]) != 0 {
		t.Errorf("mounts of the cluster are visible to the host: %q", found["mount"])
	}
}

// assertGone proves that nothing is left.
func (tr traces) assertGone(t *testing.T) {
	t.Helper()
	for kind, things := range tr.found(t) {
		if len(things) != 0 {
			t.Errorf("left behind: %s %q", kind, things)
		}
	}
}

// waitGone waits for what ends by itself.
func (tr traces) waitGone(t *testing.T) {
	t.Helper()
	eventually(t, "the cluster ends by itself", func() error {
		for kind, things := range tr.found(t) {
			if len(things) != 0 {
				return fmt.Errorf("left: %s %q", kind, things)
			}
		}
		return nil
	})
}

func interfaces(t *testing.T) []net.Interface {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func processes(t *testing.T) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	found := []int{}
	for _, e := range entries {
		pid := 0
		if n, _ := fmt.Sscanf(e.Name(), "%d", &pid); n == 1 {
			found = append(found, pid)
		}
	}
	return found
}

// unread stands for a namespace that cannot be read.
const unread = "gone"

// namespaceOf returns the namespace of a process, or unread.
func namespaceOf(pid int, kind string) string {
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
	if err != nil {
		return unread
	}
	return name
}

// stat returns what /proc/PID/stat has behind the name, and nothing for a process that ended.
func stat(pid int) []string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
}

// beginOf returns when a process began, in hundredths of a second since the machine did.
func beginOf(pid int) int64 {
	var at int64
	if fields := stat(pid); len(fields) > 19 {
		_, _ = fmt.Sscanf(fields[19], "%d", &at)
	}
	return at
}

// descends says whether ancestor is among the parents of pid.
func descends(pid, ancestor int) bool {
	for range 64 {
		if pid == ancestor {
			return true
		}
		fields := stat(pid)
		if len(fields) < 2 {
			return false
		}
		if _, err := fmt.Sscanf(fields[1], "%d", &pid); err != nil || pid <= 1 {
			return false
		}
	}
	return false
}
