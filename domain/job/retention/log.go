package retention

import (
	"cmp"
	"slices"
	"time"
)

// DefaultLogs is the number of ended Runs of a Workspace whose logs are kept.
const DefaultLogs = 100

// Manifest is the store's record of a Run that has ended: it lies below the last fence of the Run, after all its logs.
type Manifest struct {
	Fence  int64
	Stored time.Time
}

// Logs returns the highest fence whose logs may be deleted, as may those of all fences below; 0 for none. The logs of a
// Run go if as many as keep are newer, or if it ended longer than age ago. The last Run keeps its own. A keep of 0
// means DefaultLogs, an age of 0 sets no such limit.
func Logs(manifests []Manifest, keep int, age time.Duration, now time.Time) int64 {
	if keep <= 0 {
		keep = DefaultLogs
	}
	newest := slices.SortedFunc(slices.Values(manifests), func(a, b Manifest) int { return cmp.Compare(b.Fence, a.Fence) })
	for i, m := range newest {
		if i > 0 && (i >= keep || age > 0 && now.Sub(m.Stored) > age) {
			return m.Fence
		}
	}
	return 0
}
