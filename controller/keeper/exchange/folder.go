package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Folder is the shared folder of one run.
type Folder string

// Start lets the entrypoint start.
type Start struct {
	// Environment are variables besides those that the shim was started with, as NAME=value.
	Environment []string `json:"environment"`
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

// Ended reports how the process ended.
type Ended struct {
	// Code is the exit code of the container, by the contract.
	Code int `json:"code"`
	// Ran reports that the process was started.
	Ran bool `json:"ran"`
	// Killed reports that the runner or the kernel killed the process, so its files may be half written.
	Killed bool `json:"killed"`
	// Message is set where the process could not be started.
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
	endedName   = "ended"
	outcomeName = "outcome"
	lockName    = "shim.lock"
	outputName  = "output"
)

// WriteStart writes Start; a second one changes nothing, which holds for all that Folder writes.
func (f Folder) WriteStart(s Start) error { return write(f, startName, s) }

// WriteStarted writes Started.
func (f Folder) WriteStarted() error { return write(f, startedName, Started{}) }

// WriteStop writes Stop.
func (f Folder) WriteStop(s Stop) error { return write(f, stopName, s) }

// WriteEnded writes Ended.
func (f Folder) WriteEnded(e Ended) error { return write(f, endedName, e) }

// WriteOutcome writes Outcome.
func (f Folder) WriteOutcome(o Outcome) error { return write(f, outcomeName, o) }

// ReadStart reads Start; nil before it is written, which holds for all that Folder reads.
func (f Folder) ReadStart() (*Start, error) { return read[Start](f, startName) }

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

// Lock marks the shim as alive until the file is closed or the process ends.
func (f Folder) Lock() (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(string(f), lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot mark the shim as alive: %w", err)
	}
	if err := flock(file); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot mark the shim as alive: another one is: %w", err), file.Close())
	}
	return file, nil
}

// Alive reports whether a shim lives.
func (f Folder) Alive() (bool, error) {
	file, err := os.Open(filepath.Join(string(f), lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot look for the shim: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	// A shared lock, so that several that look do not take each other for the shim.
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot look for the shim: %w", err)
	}
	return false, nil
}

// flock takes the lock. Alive holds it for a moment, so several tries are needed.
func flock(file *os.File) (err error) {
	for range 100 {
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return nil
		}
		<-time.After(time.Millisecond)
	}
	return err
}

// write makes a file appear whole. A file that exists stays as it is.
func write[T any](f Folder, name string, content T) error {
	failed := func(err error) error { return fmt.Errorf("cannot write file %s of the exchange folder: %w", name, err) }
	text, err := json.Marshal(content)
	if err != nil {
		return failed(err)
	}
	aside, err := os.CreateTemp(string(f), "."+name+"-")
	if err != nil {
		return failed(err)
	}
	_, err = aside.Write(text)
	if err = errors.Join(err, aside.Close()); err == nil {
		err = os.Link(aside.Name(), filepath.Join(string(f), name))
	}
	_ = os.Remove(aside.Name()) // an error means that the file is not there: what is left aside does no harm
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return failed(err)
	}
	return nil
}

func read[T any](f Folder, name string) (*T, error) {
	text, err := os.ReadFile(filepath.Join(string(f), name)) //nolint:gosec // a fixed name
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // not written yet
	}
	var content T
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read file %s of the exchange folder: %w", name, err)
	}
	return &content, nil
}
