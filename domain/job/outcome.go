package job

// Outcome says what became of the state at the end of a hold (JOBS.md J4).
type Outcome string

// The outcomes. The empty one means that the hold has not ended.
const (
	// None means that no process ran, so that there was nothing to capture.
	None Outcome = "none"
	// Unchanged means that the state is as it was before.
	Unchanged Outcome = "unchanged"
	// Committed means that the state is a new generation.
	Committed Outcome = "committed"
	// Orphaned means that the state was stored, but is not a generation.
	Orphaned Outcome = "orphaned"
	// Failed means that the state could not be captured.
	Failed Outcome = "failed"
	// Unknown means that nothing was captured, although a process may have run.
	Unknown Outcome = "unknown"
)

// Outcomes returns all outcomes.
func Outcomes() []Outcome { return []Outcome{None, Unchanged, Committed, Orphaned, Failed, Unknown} }

// Releases reports whether the write that records the outcome releases the lock. After any other outcome a person
// decides, or the lock expires (JOBS.md J6).
func (o Outcome) Releases() bool { return o == None || o == Unchanged || o == Committed }
