package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Places among the fields of /proc/PID/stat that follow the command (proc(5) counts
// them as fields 3, 20 and 22).
const (
	stateField   = 0
	threadsField = 17
	startField   = 19
)

// Process identifies a process for as long as the machine runs: a number alone
// is used again for another process.
type Process struct {
	PID int `json:"pid"`
	// Started is the kernel's start time in clock ticks since boot.
	Started uint64 `json:"started"`
}

// FindProcess returns the identity of the process that now has this number.
func FindProcess(pid int) (Process, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, fmt.Errorf("cannot identify process %d: %w", pid, err)
	}
	started, ended, err := parseStat(stat)
	if err != nil {
		return Process{}, fmt.Errorf("cannot identify process %d: %w", pid, err)
	}
	if ended {
		return Process{}, fmt.Errorf("cannot identify process %d: %w", pid, os.ErrProcessDone)
	}
	return Process{PID: pid, Started: started}, nil
}

// parseStat reads the start time, and whether the process has ended: it is a zombie, and
// none of its threads goes on, which on a busy machine they do for a moment. The command
// before the fields may itself hold spaces and parentheses, so that the last one counts.
func parseStat(stat []byte) (started uint64, ended bool, err error) {
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= startField {
		return 0, false, fmt.Errorf("cannot read process status %q", stat)
	}
	started, err = strconv.ParseUint(fields[startField], 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("cannot read process start time: %w", err)
	}
	return started, fields[stateField] == "Z" && fields[threadsField] == "1", nil
}

// Alive says whether any thread of the very same process still runs.
func (p Process) Alive() bool {
	if p.PID <= 0 {
		return false
	}
	now, err := FindProcess(p.PID)
	return err == nil && now == p
}

// Signal sends a signal to the process if it still runs.
func (p Process) Signal(signal syscall.Signal) error {
	if !p.Alive() {
		return nil
	}
	if err := syscall.Kill(p.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("cannot signal process %d: %w", p.PID, err)
	}
	return nil
}
