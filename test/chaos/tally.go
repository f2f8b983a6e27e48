package chaos

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Tally counts steps whose effect was seen. Methods may be called at any time.
type Tally struct {
	mu     sync.Mutex
	counts map[Kind]int
}

// Seen counts a step.
func (t *Tally) Seen(k Kind) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[Kind]int{}
	}
	t.counts[k]++
}

// Count returns how often a step was seen.
func (t *Tally) Count(k Kind) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[k]
}

// Faults returns how many faults were seen.
func (t *Tally) Faults() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := 0
	for k, n := range t.counts {
		if k.Fault() {
			all += n
		}
	}
	return all
}

// String lists the counts, one kind a line.
func (t *Tally) String() string {
	faults := t.Faults()
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := []string{fmt.Sprintf("%6d faults", faults)}
	for k, n := range t.counts {
		lines = append(lines, fmt.Sprintf("%6d %s", n, k))
	}
	slices.SortFunc(lines[1:], func(a, b string) int { return strings.Compare(a[7:], b[7:]) })
	return strings.Join(lines, "\n")
}
