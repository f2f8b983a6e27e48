package shim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/golang/glog"
	"golang.org/x/sys/unix"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// Shim runs one entrypoint, once.
type Shim struct {
	Exchange exchange.Folder
	// Command is the entrypoint with its arguments.
	Command []string
	// Folder is its working directory.
	Folder string
	// Grace is the time between SIGTERM and SIGKILL if the container itself is stopped, and the longest one otherwise: the
	// template can write what stops it.
	Grace time.Duration
	// Rescue names the files of the working directory that are kept.
	Rescue Rescue
	// Patience is how long an ended template waits for a keeper if none lives; 0 for as long as it takes.
	Patience time.Duration
	Failure  Failure
	// Clock returns the time since the machine started, as the keeper's does.
	Clock func() time.Duration

	keeper absence
	main   int
	output outputs
	halt   halt
}

// outputs are the pipes of the template's outputs.
type outputs struct {
	copies  sync.WaitGroup
	readers []*os.File
}

// absence holds the terms by which the shim acts where there is no keeper.
type absence struct {
	terms exchange.Start
	// since is when no keeper was found; zero while one lives.
	since time.Time
}

// halt is how far the process is stopped.
type halt struct {
	deadline <-chan time.Time
	begun    bool
	killed   bool
	// outside reports that the container was stopped, and not the run.
	outside bool
	// starved is how many processes the kernel had killed for lack of memory when the entrypoint was started.
	starved int
}

const (
	// look is how often the exchange folder is read, and soon how often before the process is started.
	look = 20 * time.Millisecond
	soon = 5 * time.Millisecond
	// segment and spool limit what is kept of each output until the keeper has taken it, in bytes.
	segment = 1 << 20
	spool   = 64 << 20
	// drain is how long an output may stay open after the last process.
	drain = 5 * time.Second
)

// Run returns the exit code of the container. It returns before there is an outcome only at the end of the context,
// or with an error.
func (s *Shim) Run(ctx context.Context) (code int, err error) {
	// The kernel kills the entrypoint when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	alive, err := s.Exchange.Shim().Lock()
	if err != nil {
		return contract.Refused, err
	}
	defer alive.Close() //nolint:errcheck // its end is all that counts
	// What loses its parent becomes a child of this process, also where it is not the first one.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return contract.Refused, fmt.Errorf("cannot adopt processes: %w", err)
	}
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	defer signal.Stop(signals)
	if err := s.recover(); err != nil {
		return contract.Refused, err
	}
	ticks := time.NewTicker(soon)
	defer ticks.Stop()
	for waits := true; ; {
		var received os.Signal
		select {
		case <-ctx.Done():
			return contract.Vanished, ctx.Err()
		case received = <-signals:
		case <-s.halt.deadline:
			s.kill()
		case <-ticks.C:
		}
		if code, done, err := s.step(received); done || err != nil {
			return code, err
		}
		if waits && s.main != 0 {
			waits = false
			ticks.Reset(look)
		}
	}
}

// recover writes the end of a process that an earlier shim started and did not survive.
func (s *Shim) recover() error {
	started, err := s.Exchange.ReadStarted()
	if err != nil || started == nil {
		return err
	}
	return s.Exchange.WriteEnded(exchange.Ended{Code: contract.Vanished, Ran: true, Killed: true})
}

// step does what is due.
func (s *Shim) step(received os.Signal) (code int, done bool, err error) {
	if s.Failure.ended != nil {
		return 0, false, finished{s}.release(received)
	}
	if s.main != 0 {
		if received == syscall.SIGTERM || received == syscall.SIGINT {
			s.halt.outside = true
			s.stop(s.Grace, "the container is stopped")
		}
		return 0, false, s.supervise()
	}
	ended, err := s.Exchange.ReadEnded()
	if err != nil {
		return contract.Refused, false, err
	}
	outcome, err := s.Exchange.ReadOutcome()
	switch {
	case err != nil:
		return contract.Refused, false, err
	case outcome != nil && ended != nil && ended.Ran:
		return ended.Code, true, nil
	case outcome != nil:
		return outcome.Code, true, nil
	case ended != nil:
		return s.await()
	case received == syscall.SIGTERM || received == syscall.SIGINT:
		return 0, false, s.Exchange.WriteEnded(exchange.Ended{Code: contract.Refused, Message: "the container was stopped before"})
	}
	return 0, false, s.begin()
}

// begin starts the entrypoint if the keeper lets it.
func (s *Shim) begin() error {
	start, err := s.Exchange.ReadStart()
	if err != nil || start == nil {
		return err
	}
	if stop, err := s.Exchange.ReadStop(); err != nil || stop != nil {
		return errors.Join(err, s.Exchange.WriteEnded(exchange.Ended{Code: contract.Refused, Message: "it was stopped before"}))
	}
	if err := s.Exchange.WriteStarted(); err != nil {
		return err
	}
	s.keeper.terms, s.halt.starved = *start, ownMemory().kills()
	if err := s.execute(start.Environment); err != nil {
		glog.Errorf("cannot start the entrypoint %q: %v", s.Command, err)
		message := fmt.Sprintf("cannot start the entrypoint %q: %v", s.Command, err)
		return s.Exchange.WriteEnded(exchange.Ended{Code: contract.NotStarted, Message: message})
	}
	return nil
}

// supervise reads what the keeper wants of a running process, and reports its end.
func (s *Shim) supervise() error {
	stop, err := s.Exchange.ReadStop()
	if err != nil {
		return err
	}
	if stop != nil {
		s.stop(stop.Grace, stop.Reason)
	}
	if err := s.expire(); err != nil {
		return err
	}
	status, ended := s.reap()
	if !ended {
		return nil
	}
	s.finish()
	e := exchange.Ended{Code: status.ExitStatus(), Ran: true, Killed: s.halt.killed}
	if status.Signaled() {
		e.Code = contract.OfSignalNumber(int(status.Signal()))
		e.OutOfMemory = !e.Killed && status.Signal() == syscall.SIGKILL && ownMemory().kills() > s.halt.starved
		e.Killed = e.Killed || status.Signal() == syscall.SIGKILL
	}
	if s.halt.outside {
		e.Message = "its container was stopped from outside"
	}
	s.main = 0
	return finished{s}.end(e)
}

// stop sends SIGTERM to the process group, and has it killed after the grace. Only the first call counts: a cancel is
// never taken back, and never delayed by another one.
func (s *Shim) stop(grace time.Duration, reason string) {
	if s.halt.begun {
		return
	}
	s.halt.begun = true
	grace = min(grace, s.Grace)
	glog.Infof("stopping the template, SIGKILL in %s: %s", grace, reason)
	s.halt.deadline = time.After(grace)
	if s.main != 0 {
		_ = syscall.Kill(-s.main, syscall.SIGTERM) // it may have ended meanwhile
	}
}

func (s *Shim) kill() {
	s.halt.deadline = nil
	if s.main != 0 {
		s.halt.killed = true
		_ = syscall.Kill(-s.main, syscall.SIGKILL) // it may have ended meanwhile
	}
}
