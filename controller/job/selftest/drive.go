package selftest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// Grace is the time between SIGTERM and SIGKILL that each run must have.
const Grace = 700 * time.Millisecond

// Conductor carries out runs, each in a workspace of its own, several at a time.
type Conductor interface {
	// Run carries out one run with the action check, Parameters and Grace.
	Run(ctx context.Context, o Exercise) (Result, error)
}

// Exercise describes a run.
type Exercise struct {
	// Args are the arguments of the program, which is Main.
	Args []string
	// Program is another program that does not exist; "" for Main.
	Program string
	// Fault is done to the run once the state has file ready.
	Fault Fault
}

// Fault is done to a run from outside.
type Fault string

const (
	// Cancel cancels the run.
	Cancel Fault = "Cancel"
	// CancelLate cancels the run when its process has ended, while its state is captured.
	CancelLate Fault = "CancelLate"
	// Kill kills all processes of the container at once, as the kernel does when they are out of memory.
	Kill Fault = "Kill"
)

// Result describes how a run ended, and what it stored.
type Result struct {
	// Code is the exit code that is recorded.
	Code int
	// Outcome is that of the state; Killed reports that the process was killed, as it is recorded.
	Outcome job.Outcome
	Killed  bool
	// State has the files of the state that is stored.
	State map[string]string
	// Outputs are those that are recorded.
	Outputs string
	// Logs are stored logs by name; whole ones have their end, and no hole.
	Logs  map[string]string
	Whole bool
}

// trial is one run and what must come back.
type trial struct {
	name  string
	order Exercise
	check func(Result) error
}

// trials returns all runs but the one that looks.
func trials() []trial {
	ends := func(code int, killed bool) func(Result) error {
		outcome := job.Committed
		if code == contract.NotStarted {
			outcome = job.None
		}
		return func(r Result) error {
			if r.Code != code || r.Killed != killed || r.Outcome != outcome {
				return fmt.Errorf("code %d, killed %t, state %s instead of %d, %t, %s", r.Code, r.Killed, r.Outcome, code, killed, outcome)
			}
			return nil
		}
	}
	return []trial{
		{"exit 0", Exercise{Args: []string{exit, "0"}}, ends(contract.Success, false)},
		{"exit 1, and the state is kept", Exercise{Args: []string{exit, "1"}}, ends(1, false)},
		{"exit 63, the last one of templates", Exercise{Args: []string{exit, "63"}}, ends(63, false)},
		{"exit 79, the last one of the runner", Exercise{Args: []string{exit, "79"}}, ends(79, false)},
		{"exit by a signal", Exercise{Args: []string{kill}}, ends(137, true)},
		{"exit of a program that cannot be executed", Exercise{Program: "/nowhere/program"}, ends(contract.NotStarted, false)},
		{"burst of 10 MiB", Exercise{Args: []string{burst}}, bursts},
		{"cancel", Exercise{Args: []string{stop}, Fault: Cancel}, func(r Result) error {
			return errors.Join(ends(stopped, false)(r), filled(r.State["term"]))
		}},
		{"cancel of a deaf process and its child", Exercise{Args: []string{deaf}, Fault: Cancel}, func(r Result) error {
			return errors.Join(ends(137, true)(r), patient(r))
		}},
		{"cancel while the state is captured", Exercise{Args: []string{late}, Fault: CancelLate}, func(r Result) error {
			return errors.Join(ends(contract.Success, false)(r), filled(r.State["late"]))
		}},
		{"out of memory", Exercise{Args: []string{stop}, Fault: Kill}, func(r Result) error {
			return errors.Join(ends(contract.Vanished, true)(r), filled(r.State["ready"]))
		}},
	}
}

// bursts checks that each byte of a burst came, on its own stream.
func bursts(r Result) error {
	if r.Logs["stdout"] != strings.Repeat(line, burstSize/len(line)) {
		return fmt.Errorf("%d bytes came, or other ones", len(r.Logs["stdout"]))
	}
	if !r.Whole {
		return errors.New("a log has holes or no end")
	}
	return equal("problem\n", r.Logs["stderr"])
}

// patient checks that a process had its grace: its child wrote as long.
func patient(r Result) error {
	begin, err := time.Parse(time.RFC3339Nano, r.State["ready"])
	end, problem := time.Parse(time.RFC3339Nano, r.State["hang"])
	if err = errors.Join(err, problem); err == nil && end.Sub(begin) < Grace/2 {
		err = fmt.Errorf("it was killed after %s", end.Sub(begin))
	}
	return err
}

// Drive carries out all runs by an executor and returns the report.
func Drive(ctx context.Context, e Conductor) (conformance.Report, error) {
	r, err := e.Run(ctx, Exercise{Args: []string{look}})
	if err != nil {
		return conformance.Report{}, fmt.Errorf("cannot run the program: %w", err)
	}
	report, err := conformance.Parse([]byte(r.Logs["stdout"]))
	if err != nil {
		return conformance.Report{}, err
	}
	report = report.Add("outputs come back", equal(`{"seen":1}`, r.Outputs))
	report = report.Add("log files come back", equal("seen\n", r.Logs["/logs/conformance.log"]))
	report = report.Add("state over HTTP comes back", equal(served, r.State[contract.TerraformFile]))
	all := trials()
	found := make([]error, len(all))
	var running sync.WaitGroup
	for i, one := range all {
		running.Go(func() {
			r, err := e.Run(ctx, one.order)
			if err == nil {
				err = one.check(r)
			}
			found[i] = err
		})
	}
	running.Wait()
	for i, one := range all {
		report = report.Add(one.name, found[i])
	}
	return report, nil
}
