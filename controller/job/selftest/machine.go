package selftest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// Containers carries out attempts by containers of this machine, whose keepers are run by Machine.Keep.
type Containers interface {
	executor.Executor
	// Folders returns the folder of the state of an attempt, and the one that keeper and shim share.
	Folders(n executor.Name) (state string, shared exchange.Folder)
	// Kill kills all processes of an attempt at once.
	Kill(ctx context.Context, n executor.Name) error
}

// Machine carries out runs by containers of this machine. What they store is in memory: no controller is needed.
type Machine struct {
	Containers Containers
	// Image has the program, Command begins its command line.
	Image   string
	Command []string
	// Patience is how long a run may take, Hindered how long its engine may have an obstacle; 0 for as long.
	Patience, Hindered time.Duration
	// Folder is for temporary files; "" is that of the system, which an agent that is a container may not write.
	Folder string

	mutex sync.Mutex
	runs  map[string]*ledger
}

var _ Conductor = (*Machine)(nil)

// The times of runs: they are checked within seconds.
const (
	lost       = time.Minute
	renew      = 250 * time.Millisecond
	checkpoint = time.Second
	drain      = 10 * time.Second
)

// ledger returns that of a run.
func (m *Machine) ledger(uid string) *ledger {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.runs == nil {
		m.runs = map[string]*ledger{}
	}
	if m.runs[uid] == nil {
		m.runs[uid] = newLedger()
	}
	return m.runs[uid]
}

// Keep runs a keeper whose calls stay on this machine.
func (m *Machine) Keep(ctx context.Context, k *keeper.Keeper) error {
	l := m.ledger(k.Claimant.Run)
	k.Ledger, k.Blobs, k.Chunks = l, l, l
	k.Settings.Renew, k.Settings.Checkpoint, k.Settings.Drain = renew, checkpoint, drain
	return k.Run(ctx)
}

// attempt returns an attempt of a new run.
func (m *Machine) attempt(o Exercise) executor.Attempt {
	uid, command := "selftest-"+strings.ToLower(rand.Text()), m.Command
	if o.Program != "" {
		command = []string{o.Program}
	}
	return executor.Attempt{
		Name:      executor.Name{Namespace: "selftest", Run: uid, UID: uid, Number: 1},
		Workspace: uid, Fence: 1, Timing: job.Timing{Lost: lost, Grace: Grace},
		Input: run.Input{Action: "check", Artifact: run.Artifact{Image: m.Image}, Entrypoint: command, Args: o.Args},
	}
}

// Run implements Conductor.
func (m *Machine) Run(ctx context.Context, o Exercise) (Result, error) {
	bounded, end := context.WithTimeout(ctx, m.Patience)
	defer end()
	ctx, hinder := context.WithCancelCause(bounded)
	defer hinder(nil)
	a := m.attempt(o)
	if err := m.Containers.Start(ctx, a); err != nil {
		return Result{}, err
	}
	if m.Hindered > 0 {
		go m.watch(ctx, a.Name, hinder)
	}
	err := m.inflict(ctx, o.Fault, a.Name)
	if err == nil {
		err = m.over(ctx, a.Name)
	}
	return m.conclude(context.WithoutCancel(ctx), a.Name, err)
}

// conclude removes a run, and returns its result unless it did not end.
func (m *Machine) conclude(ctx context.Context, n executor.Name, failed error) (Result, error) {
	if err := cmp.Or(failed, m.Containers.Remove(ctx, n)); err != nil {
		_ = m.Containers.Remove(ctx, n) // the next agent removes what is left
		return Result{}, err
	}
	return m.ledger(n.UID).result(m.Folder)
}

// watch ends the context of a run whose engine has had an obstacle for too long.
func (m *Machine) watch(ctx context.Context, n executor.Name, hinder context.CancelCauseFunc) {
	began := time.Now()
	_ = wait(ctx, func() bool {
		s, err := m.Containers.Look(ctx, n)
		if err != nil || s.Obstacle == "" {
			began = time.Now()
			return false
		}
		if time.Since(began) < m.Hindered {
			return false
		}
		hinder(errors.New(s.Obstacle))
		return true
	})
}

// over waits until an attempt is over.
func (m *Machine) over(ctx context.Context, n executor.Name) error {
	var s executor.Sight
	var problem error
	err := wait(ctx, func() bool {
		s, problem = m.Containers.Look(ctx, n)
		return problem != nil || s.Over
	})
	switch err = cmp.Or(problem, err); {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("it does not end: %w: %s", err, cmp.Or(s.Obstacle, "no reason is known"))
	case err != nil:
		return fmt.Errorf("it does not end: %w", err)
	}
	return nil
}

// inflict does a fault to a run.
func (m *Machine) inflict(ctx context.Context, f Fault, n executor.Name) error {
	if f == "" {
		return nil
	}
	folder, shared := m.Containers.Folders(n)
	l := m.ledger(n.UID)
	err := wait(ctx, func() bool {
		_, err := os.Stat(filepath.Join(folder, "ready"))
		return err == nil
	})
	if err != nil {
		return fmt.Errorf("its program is not ready: %w", err)
	}
	switch f {
	case Kill:
		return m.Containers.Kill(ctx, n)
	case CancelLate:
		return l.cancelLate(ctx, folder, shared)
	case Cancel:
		l.cancel()
	}
	return nil
}

// cancelLate cancels a run while its state is being stored, which goes on when its keeper has seen the cancel.
func (l *ledger) cancelLate(ctx context.Context, folder string, shared exchange.Folder) error {
	defer l.hold()()
	if err := os.WriteFile(filepath.Join(folder, Released), nil, 0o600); err != nil {
		return fmt.Errorf("cannot release its program: %w", err)
	}
	err := wait(ctx, func() bool {
		ended, err := shared.ReadEnded()
		return err == nil && ended != nil
	})
	if err != nil {
		return fmt.Errorf("its program does not end: %w", err)
	}
	l.cancel()
	seen := l.renewals() + 2 // one may have been on its way
	return wait(ctx, func() bool { return l.renewals() >= seen })
}

// wait waits until a condition is met or the context ends.
func wait(ctx context.Context, met func() bool) error {
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for !met() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticks.C:
		}
	}
	return nil
}
