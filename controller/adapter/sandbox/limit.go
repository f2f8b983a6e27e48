package sandbox

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Allowance bounds one child. Each part must be set.
type Allowance struct {
	// Memory is how many bytes the child may have for data: heap, stacks and variables.
	Memory int64
	// CPU is how much processor time it may use, in whole seconds; Wall is how long it may take.
	CPU, Wall time.Duration
	// Output is how many bytes it may write.
	Output int64
}

// LimitError reports a limit that a child has reached. Its text quotes nothing that the child wrote.
type LimitError struct {
	// Limit names it, as in "needs more than": "320 MiB of memory".
	Limit string
}

// Error names the limit, and the cure.
func (e *LimitError) Error() string {
	return fmt.Sprintf("needs more than %s, the limit: split the bundle, or look for a part that grows with each use of another", e.Limit)
}

// Exceeded reports that it is about a limit.
func (e *LimitError) Exceeded() bool { return true }

// errEnded reports a child that ended early for another reason: a fault of a library, or the machine has no memory left.
var errEnded = errors.New("it ended without an answer")

// The limits, as errors name them.
func (l Allowance) memory() error { return &LimitError{fmt.Sprintf("%d MiB of memory", l.Memory>>20)} }
func (l Allowance) cpu() error    { return &LimitError{fmt.Sprintf("%s of processor time", l.CPU)} }
func (l Allowance) wall() error   { return &LimitError{fmt.Sprintf("%s of time", l.Wall)} }
func (l Allowance) output() error {
	return &LimitError{fmt.Sprintf("%d KiB for its result", l.Output>>10)}
}

const (
	// outOfTime is the exit code of a child that has used up its processor time.
	outOfTime = 75
	// grace is how many seconds of it a child has to end by itself; then the kernel kills it.
	grace = 2
)

// apply sets the limits of a process that has not begun its work.
func (l Allowance) apply(pid int) error {
	seconds := uint64(max(l.CPU/time.Second, 1))
	memory := uint64(l.Memory) //nolint:gosec // a positive size
	for resource, most := range map[int]unix.Rlimit{
		unix.RLIMIT_DATA:  {Cur: memory, Max: memory},
		unix.RLIMIT_CPU:   {Cur: seconds, Max: seconds + grace}, // the first is a signal
		unix.RLIMIT_FSIZE: {Cur: maxScratch, Max: maxScratch},
		unix.RLIMIT_CORE:  {},
	} {
		if err := unix.Prlimit(pid, resource, &most, nil); err != nil {
			return fmt.Errorf("cannot limit the child process: %w", err)
		}
	}
	return nil
}

// outOfMemory matches the words in which Go's runtime reports that the kernel gives it no more. Its collector may also use
// memory that it did not get, and be killed on the stack of the runtime, that of goroutine 0.
var outOfMemory = regexp.MustCompile(`out of memory|cannot (allocate|reserve|map)|failed to (allocate|reserve|create new OS thread)|` +
	`SIGSEGV: segmentation violation\n[^\n]*\n\ngoroutine 0 `)

// reached returns why a child ended without success: its limits, by what the kernel and Go's runtime report.
func (l Allowance) reached(err error, complaint string) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return fmt.Errorf("cannot run a child process: %w", err)
	}
	switch {
	case exit.ExitCode() == outOfTime:
		return l.cpu()
	case outOfMemory.MatchString(complaint):
		return l.memory()
	case strings.Contains(complaint, "stack overflow"), strings.Contains(complaint, "stack exceeds"):
		return &LimitError{fmt.Sprintf("%d MiB for one call inside of another", maxStack>>20)}
	}
	return fmt.Errorf("%w (%s)", errEnded, exit.ProcessState)
}
