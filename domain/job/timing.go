package job

import "time"

// Margin is how long the controller waits beyond all times of a holder before the lock expires.
const Margin = 15 * time.Second

// Timing are the times of a run. A lock keeps those with which it was acquired.
type Timing struct {
	// Lost is how long a holder may be silent before it counts as lost.
	Lost time.Duration
	// Grace is how long a process has between SIGTERM and SIGKILL.
	Grace time.Duration
}

// DefaultTiming returns the times of a Workspace that sets none: lost after 60 s, 120 s of grace.
func DefaultTiming() Timing { return Timing{Lost: time.Minute, Grace: 2 * time.Minute} }

// Takeover returns how long the controller must have received no renewal before the lock may expire. By then
// a holder that sees no answers has killed its process (JOBS.md J6).
func (t Timing) Takeover() time.Duration { return t.Lost + t.Grace + Margin }

// Pause returns how long the controller waits after the end of an attempt whose process never started, before the next
// one begins: 5 s, twice as long after each further one, and at most 5 minutes.
func Pause(attempt int) time.Duration {
	const first, most = 5 * time.Second, 5 * time.Minute
	pause := first
	for range attempt - 1 {
		if pause *= 2; pause >= most {
			return most
		}
	}
	return pause
}

// Signal is a signal that a keeper sends to its process.
type Signal string

// The signals. The empty string means none.
const (
	Terminate Signal = "SIGTERM"
	Kill      Signal = "SIGKILL"
)

// Unacknowledged returns the signal that is due when the given time has passed since a holder sent its last
// acknowledged renewal, by the boot-time clock of its machine, and the time until that changes; zero for never. Before
// the first one, the time since it first sent its claim counts, also if the claim was repeated: a holder to which any
// signal is due starts nothing. An exclusive run goes on: nothing takes its lock over because time passed.
func (t Timing) Unacknowledged(s Safety, passed time.Duration) (Signal, time.Duration) {
	if !s.Expires() {
		return "", 0
	}
	return t.due(passed, t.Lost)
}

// Cancelled returns the signal that is due when the given time has passed since a holder learnt of a cancel or
// a timeout, and the time until that changes; zero for never (JOBS.md J7).
func (t Timing) Cancelled(passed time.Duration) (Signal, time.Duration) { return t.due(passed, 0) }

// due returns the signal at a time if SIGTERM is due at another one.
func (t Timing) due(passed, from time.Duration) (Signal, time.Duration) {
	switch {
	case passed < from:
		return "", from - passed
	case passed < from+t.Grace:
		return Terminate, from + t.Grace - passed
	}
	return Kill, 0
}

// Watch follows the renewals of one claim by the controller's monotonic clock. It begins when the controller sees the
// claim; a process, and a leader, begins anew with NewWatch, since it knows nothing of the time before.
type Watch struct {
	fence    int64
	claimant string
	renewal  int64
	since    time.Duration
}

// NewWatch returns a watch of a claim that begins now.
func NewWatch(fence int64, claimant string, now time.Duration) Watch {
	return Watch{fence: fence, claimant: claimant, since: now}
}

// Follows reports whether the watch is of a claim. One of the same fence before it was claimed is not.
func (w Watch) Follows(fence int64, claimant string) bool {
	return w.fence == fence && w.claimant == claimant
}

// Receive returns the watch after a renewal. Only a higher number of the same fence counts, so that a renewal which
// is seen twice, or late, proves no life.
func (w Watch) Receive(fence, renewal int64, now time.Duration) Watch {
	if fence == w.fence && renewal > w.renewal {
		w.renewal, w.since = renewal, now
	}
	return w
}

// Silence returns how long the claimant has been silent.
func (w Watch) Silence(now time.Duration) time.Duration { return now - w.since }
