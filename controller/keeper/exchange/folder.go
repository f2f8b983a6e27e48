package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Folder is the shared folder of one run.
type Folder string

// Start lets the entrypoint start.
type Start struct {
	// Environment are variables besides those that the shim was started with, as NAME=value.
	Environment []string `json:"environment"`
	// Lost is how long after its last acknowledged renewal the process is stopped; 0 for never.
	Lost time.Duration `json:"lost,omitempty"`
	// Grace is the time between SIGTERM and SIGKILL then.
	Grace time.Duration `json:"grace,omitempty"`
	// Acknowledged counts as a renewal before there is one.
	Acknowledged time.Duration `json:"acknowledged,omitempty"`
}

// Renewed is the last renewal that was acknowledged.
type Renewed struct {
	// Sent is when it was sent, by the time since the machine started.
	Sent time.Duration `json:"sent"`
}

// Started is written before the entrypoint starts.
type Started struct{}

// Stop ends the process.
type Stop struct {
	// Grace is the time between SIGTERM and SIGKILL.
	Grace time.Duration `json:"grace"`
	// Reason is for the log.
	Reason string `json:"reason"`
}

// Failed reports that a process has failed, and that its container is held before its end is reported.
type Failed struct {
	// Code is the exit code of the process.
	Code int `json:"code"`
	// Hold is how long it is held.
	Hold time.Duration `json:"hold"`
}

// Ended reports how the process ended.
type Ended struct {
	// Code is the exit code of the container, by the contract.
	Code int `json:"code"`
	// Ran reports that the process was started.
	Ran bool `json:"ran"`
	// Killed reports that the runner or the kernel killed the process, so its files may be half written.
	Killed bool `json:"killed"`
	// OutOfMemory reports that the kernel killed it for lack of memory.
	OutOfMemory bool `json:"outOfMemory,omitempty"`
	// Message is set where the process could not be started, or its container was stopped.
	Message string `json:"message,omitempty"`
}

// Outcome lets the shim exit.
type Outcome struct {
	// Code is the exit code of a container whose process never started.
	Code int `json:"code"`
}

// The names of the files.
const (
	startName   = "start"
	startedName = "started"
	stopName    = "stop"
	spareName   = "stop.spare"
	endedName   = "ended"
	failedName  = "failed"
	outcomeName = "outcome"
	renewedName = "renewed"
	shimLock    = "shim.lock"
	keeperLock  = "keeper.lock"
	outputName  = "output"
	backendName = "backend.sock"
)

// WriteStart writes Start; a second one changes nothing, which holds for all that Folder writes but Renewed.
func (f Folder) WriteStart(s Start) error { return write(f, startName, s) }

// WriteStarted writes Started.
func (f Folder) WriteStarted() error { return write(f, startedName, Started{}) }

// WriteStop writes Stop; on a full disk, the one that was written ahead.
func (f Folder) WriteStop(s Stop) error {
	err := write(f, stopName, s)
	if err == nil {
		return nil
	}
	spare := os.Link(filepath.Join(string(f), spareName), filepath.Join(string(f), stopName))
	if spare == nil || errors.Is(spare, fs.ErrExist) {
		return nil
	}
	return err
}

// WriteSpare writes a Stop ahead.
func WriteSpare(f Folder, s Stop) error { return write(f, spareName, s) }

// WriteFailed writes Failed.
func WriteFailed(f Folder, e Failed) error { return write(f, failedName, e) }

// ReadFailed reads Failed.
func ReadFailed(f Folder) (*Failed, error) { return read[Failed](f, failedName) }

// WriteEnded writes Ended.
func (f Folder) WriteEnded(e Ended) error { return write(f, endedName, e) }

// WriteOutcome writes Outcome.
func (f Folder) WriteOutcome(o Outcome) error { return write(f, outcomeName, o) }

// WriteRenewed writes Renewed in place of the one before.
func (f Folder) WriteRenewed(r Renewed) error {
	aside, err := writeAside(f, renewedName, r)
	if err == nil {
		err = os.Rename(aside, filepath.Join(string(f), renewedName))
	}
	if err != nil {
		return fmt.Errorf("cannot write file %s of the exchange folder: %w", renewedName, err)
	}
	return nil
}

// ReadRenewed reads Renewed.
func (f Folder) ReadRenewed() (*Renewed, error) { return read[Renewed](f, renewedName) }

// ReadStart reads Start; nil before it is written, and ErrSpoilt for a file without a message. That holds for all that
// Folder reads.
func (f Folder) ReadStart() (*Start, error) { return read[Start](f, startName) }

// Permitted reports whether the entrypoint was let start: whatever is left of Start.
func Permitted(f Folder) (bool, error) {
	start, err := f.ReadStart()
	if errors.Is(err, ErrSpoilt) {
		return true, nil
	}
	return start != nil, err
}

// Reported reports whether an end of the process is there: whatever is left of Ended.
func Reported(f Folder) (bool, error) {
	ended, err := f.ReadEnded()
	if errors.Is(err, ErrSpoilt) {
		return true, nil
	}
	return ended != nil, err
}

// ReadStarted reads Started.
func (f Folder) ReadStarted() (*Started, error) { return read[Started](f, startedName) }

// ReadStop reads Stop.
func (f Folder) ReadStop() (*Stop, error) { return read[Stop](f, stopName) }

// ReadEnded reads Ended.
func (f Folder) ReadEnded() (*Ended, error) { return read[Ended](f, endedName) }

// ReadOutcome reads Outcome.
func (f Folder) ReadOutcome() (*Outcome, error) { return read[Outcome](f, outcomeName) }

// Output returns the folder of the standard output and error.
func (f Folder) Output() string { return filepath.Join(string(f), outputName) }

// Backend returns the socket of a folder where the keeper serves Terraform's state to a shim that forwards to it.
func Backend(f Folder) string { return filepath.Join(string(f), backendName) }

// Shim returns the mark of a shim that lives.
func (f Folder) Shim() Life { return Life{filepath.Join(string(f), shimLock), "the shim"} }

// Keeper returns the mark of a keeper that lives.
func (f Folder) Keeper() Life { return Life{filepath.Join(string(f), keeperLock), "the keeper"} }

// write makes a file appear whole. A file that exists stays as it is.
func write[T any](f Folder, name string, content T) error {
	aside, err := writeAside(f, name, content)
	if err == nil {
		err = os.Link(aside, filepath.Join(string(f), name))
		_ = os.Remove(aside) // what is left aside does no harm
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot write file %s of the exchange folder: %w", name, err)
	}
	return nil
}

// writeAside writes a file under another name, which it returns.
func writeAside[T any](f Folder, name string, content T) (string, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return "", err
	}
	aside, err := os.CreateTemp(string(f), "."+name+"-")
	if err != nil {
		return "", err
	}
	_, err = aside.Write(text)
	if err = errors.Join(err, aside.Close()); err != nil {
		return "", errors.Join(err, os.Remove(aside.Name()))
	}
	return aside.Name(), nil
}

func read[T any](f Folder, name string) (*T, error) {
	text, err := readMessage(f, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // not written yet
	}
	var content T
	spoilt := misplaced(err)
	if err == nil {
		err = json.Unmarshal(text, &content)
		spoilt = err != nil
	}
	if spoilt {
		err = fmt.Errorf("%w: %w", ErrSpoilt, err)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read file %s of the exchange folder: %w", name, err)
	}
	return &content, nil
}
