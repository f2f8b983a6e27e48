package job

import "fmt"

// Exit tells how the process of a run ended.
type Exit struct {
	// Code is the exit code: 0 for success.
	Code int
	// Cause is the empty string for a process that ended by itself.
	Cause Cause
}

// Cause is the reason why a process did not end by itself.
type Cause string

// The causes.
const (
	// Killed means SIGKILL, after a cancel, a timeout or from outside.
	Killed Cause = "Killed"
	// OutOfMemory means that the kernel killed the container.
	OutOfMemory Cause = "OutOfMemory"
	// NotStarted means that no process was started.
	NotStarted Cause = "NotStarted"
	// Unreported means that the holder was lost: how its process ended is not known.
	Unreported Cause = "Unreported"
)

// Torn reports whether the process may have left its files half written, so that a person looks at the state before
// the next exclusive run (JOBS.md J6).
func (e Exit) Torn() bool { return e.Cause == Killed || e.Cause == OutOfMemory }

// Success reports whether the process ended by itself with code 0.
func (e Exit) Success() bool { return e == Exit{} }

// String returns the exit for messages.
func (e Exit) String() string {
	if e.Cause == "" {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return string(e.Cause)
}
