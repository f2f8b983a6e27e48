package api

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/selftest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
)

// Container is the container of a Run as this machine sees it.
type Container struct {
	// Run is the UID of the Run, State and Exchange are folders.
	Run, State string
	Exchange   exchange.Folder
	// Kill kills all its processes.
	Kill func() error
}

// Inflict does a fault to a Run.
func (a *API) Inflict(ctx context.Context, f selftest.Fault, c Container) error {
	if f == "" {
		return nil
	}
	if err := Wait(ctx, func() bool { return there(filepath.Join(c.State, "ready")) }); err != nil {
		return fmt.Errorf("cannot %s: its program is not ready: %w", f, err)
	}
	switch f {
	case selftest.Kill:
		return c.Kill()
	case selftest.CancelLate:
		return a.cancelLate(ctx, c)
	case selftest.Cancel:
		a.Cancel(c.Run)
	}
	return nil
}

// cancelLate cancels a Run whose state is being stored: that goes on when its keeper has seen the cancel.
func (a *API) cancelLate(ctx context.Context, c Container) error {
	release := a.hold(c.Run)
	defer release()
	if err := os.WriteFile(filepath.Join(c.State, selftest.Released), nil, 0o644); err != nil {
		return err
	}
	err := Wait(ctx, func() bool {
		ended, err := c.Exchange.ReadEnded()
		return err == nil && ended != nil
	})
	if err != nil {
		return fmt.Errorf("cannot cancel late: its program does not end: %w", err)
	}
	a.Cancel(c.Run)
	seen := len(a.Renewals(c.Run)) + 2 // one may have been on its way
	return Wait(ctx, func() bool { return len(a.Renewals(c.Run)) >= seen })
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Wait waits until a condition is met or the context ends.
func Wait(ctx context.Context, met func() bool) error {
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for !met() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("it does not come about: %w", ctx.Err())
		case <-ticks.C:
		}
	}
	return nil
}
