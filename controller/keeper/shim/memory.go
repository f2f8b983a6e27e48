package shim

import (
	"os"
	"strconv"
	"strings"
)

// memory counts the processes that the kernel has killed in a control group for lack of memory. Its files are those of the
// container by control groups v2 and v1; where there is none, it counts nothing.
type memory struct{ files []string }

// ownMemory is that of this container.
func ownMemory() memory {
	return memory{[]string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}}
}

// kills returns the count.
func (m memory) kills() (sum int) {
	for _, file := range m.files {
		text, _ := os.ReadFile(file) //nolint:gosec // of the kernel
		for line := range strings.Lines(string(text)) {
			if count, is := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); is {
				n, _ := strconv.Atoi(count) // the kernel writes numbers
				sum += n
			}
		}
	}
	return sum
}
