package contract

import "fmt"

// The exit codes of the template's container that have a meaning.
const (
	// Success is the only code of a run that did what it was started for.
	Success = 0
	// NotStarted means that the entrypoint could not be executed.
	NotStarted = 64
	// Refused means that the keeper did not let the entrypoint start: its claim or the restore of the state failed.
	Refused = 65
	// Vanished means that an earlier process of the same run ended with its container, so that its exit code is unknown.
	Vanished = 66
	// Misused means that the command line of keeper or shim is wrong.
	Misused = 67
	// Unrecorded means that the end of the run is not recorded: the keeper could not, or there was none for too long.
	Unrecorded = 68
)

// The bounds of the codes.
const (
	lastOfTemplate = 63
	firstOfRunner  = 64
	lastOfRunner   = 79
	firstSignal    = 129
	lastSignal     = 128 + 64
)

// Origin says who chose an exit code.
type Origin string

// The origins.
const (
	// OfTemplate codes are 0 to 63, and all others that have no other origin.
	OfTemplate Origin = "template"
	// OfRunner codes are 64 to 79. A template must not use them.
	OfRunner Origin = "runner"
	// OfSignal codes are 128 and the number of the signal that ended the process.
	OfSignal Origin = "signal"
)

// OriginOf returns who chose an exit code.
func OriginOf(code int) Origin {
	switch {
	case code >= firstOfRunner && code <= lastOfRunner:
		return OfRunner
	case code >= firstSignal && code <= lastSignal:
		return OfSignal
	}
	return OfTemplate
}

// OfSignalNumber returns the exit code of a process that a signal ended.
func OfSignalNumber(signal int) int { return firstSignal - 1 + signal }

// Explain returns what an exit code means, for messages.
func Explain(code int) string {
	switch {
	case code == Success:
		return "the template succeeded"
	case code == NotStarted:
		return "the entrypoint of the template could not be executed: check its path, its mode and its first line"
	case code == Refused:
		return "the keeper refused to start the template: its log has the reason"
	case code == Vanished:
		return "the container ended before its process reported an exit code"
	case code == Misused:
		return "the command line of the runner is wrong: its log has the reason"
	case code == Unrecorded:
		return "the end of the run is not recorded: the keeper's log has the reason, or the keeper was gone"
	case OriginOf(code) == OfRunner:
		return fmt.Sprintf("exit code %d is reserved for the runner: let the template use 1 to %d", code, lastOfTemplate)
	case OriginOf(code) == OfSignal:
		return fmt.Sprintf("signal %d ended the template", code-firstSignal+1)
	case code > lastOfTemplate:
		return fmt.Sprintf("exit code %d has no meaning in the contract: let the template use 1 to %d", code, lastOfTemplate)
	}
	return fmt.Sprintf("the template failed with exit code %d", code)
}
