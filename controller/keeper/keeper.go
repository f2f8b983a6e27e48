package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/chunk"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/retry"
)

// Keeper keeps the state of one run.
type Keeper struct {
	Ledger Ledger
	Blobs  Blobs
	// Content has that of runs that have one.
	Content ContentSource
	// Secrets has those of the run; nil for none, and where they are in their folder already.
	Secrets SecretSource
	// Chunks receives the output of the template; nil for none.
	Chunks   chunk.Sink
	Exchange exchange.Folder
	Claimant Claimant
	Settings Settings
	// Clock returns the time since the machine started: BootTime.
	Clock func() time.Duration
	// Terminate is closed when the keeper should come to an end soon: the template is stopped.
	Terminate <-chan struct{}
}

// Settings are those of the template and of the runner.
type Settings struct {
	// State is the folder of the state, Logs that of the template's log files ("" for none), Scratch one of the keeper's own.
	State, Logs, Scratch string
	// Work is the working directory of the template, for content that is copied there.
	Work string
	// Secrets is the folder of the template's secrets, which no log may have; "" for none.
	Secrets string
	// Stored is a folder with more of them, which is there when the keeper fetches the others; "" for none.
	Stored string
	// Exclude is not a part of the state.
	Exclude state.Exclude
	// Limit is the size of the plain archive in bytes.
	Limit int64
	// Renew and Checkpoint are how often each is done. Renewals come sooner where a run soon counts as lost.
	Renew, Checkpoint time.Duration
	// Drain is how long the run waits, when it has ended, for the rest of its output while none of that is carried away.
	Drain time.Duration
	// Retry is the longest pause before a call is repeated that failed.
	Retry time.Duration
	// Backend is the address on loopback where Terraform's state is served; "" for nowhere. It is the same for a
	// keeper that is started again, since the template has it.
	Backend string
	// Forwarded has the shim serve Backend, since the template has another network than the keeper: the keeper serves a
	// socket of the exchange folder.
	Forwarded bool
}

// look is how often the exchange folder is read.
const look = 20 * time.Millisecond

// Run returns when the run has ended and its end is recorded, with an error if the state is not safe, or at the end of
// the context, after which another keeper goes on.
func (k *Keeper) Run(ctx context.Context) error {
	alive, err := k.Exchange.Keeper().Lock()
	if err != nil {
		return err
	}
	defer alive.Close() //nolint:errcheck // its end is all that counts
	started, err := exchange.Permitted(k.Exchange)
	if err != nil {
		return err
	}
	run, err := k.begin(ctx, started)
	if err != nil {
		return err
	}
	renewing, end := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run.renew(renewing)
	}()
	defer func() {
		end()
		<-ended
	}()
	if started {
		leasing{run}.resume(ctx)
	} else if err := run.prepare(ctx); err != nil {
		return run.abandon(ctx, err)
	}
	carried := make(chan struct{})
	finish := make(chan bool, 1)
	go func() {
		defer close(carried)
		(&cargo{run: run}).carry(ctx, finish)
	}()
	process, err := run.follow(ctx, !started)
	finish <- err == nil && process.Ran && process.Code != contract.Vanished
	if err == nil {
		err = run.conclude(ctx, process)
	}
	<-carried
	return err
}

// begin claims the run. If the claim is refused after an earlier keeper has let the template start, the run goes on
// with the earlier hold: the template is stopped, and its state is stored as an orphan.
func (k *Keeper) begin(ctx context.Context, started bool) (*run, error) {
	first := k.Clock()
	var hold Hold
	err := k.repeat(ctx, "claim the run", func() (err error) {
		hold, err = k.Ledger.Claim(ctx, k.Claimant)
		return err
	})
	earlier := k.remembered()
	switch {
	case err == nil && earlier != nil && earlier.Hold.Fence == hold.Fence:
		return newRun(k, memory{hold, min(first, earlier.Acknowledged)}), nil // a repeated claim is no renewal
	case err == nil:
		m := memory{hold, first}
		return newRun(k, m), k.remember(m)
	case !final(err):
		return nil, fmt.Errorf("cannot claim the run: %w", err)
	}
	err = fmt.Errorf("cannot claim the run: %w", err)
	if started && earlier != nil {
		run := newRun(k, *earlier)
		run.stop(err.Error())
		return run, nil
	}
	return nil, errors.Join(err, k.Exchange.WriteOutcome(exchange.Outcome{Code: contract.Refused}))
}

// memory holds the state that a keeper must find again when it is restarted.
type memory struct {
	Hold Hold
	// Acknowledged is when the last renewal was sent that was acknowledged; before the first one, the claim.
	Acknowledged time.Duration
}

// memoryName is the file of the scratch folder that has the memory.
const memoryName = "hold.json"

func (k *Keeper) remember(m memory) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("cannot store the hold: %w", err)
	}
	file := filepath.Join(k.Settings.Scratch, memoryName)
	if err = os.WriteFile(file+".new", text, 0o600); err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		return fmt.Errorf("cannot store the hold: %w", err)
	}
	return nil
}

// remembered returns the memory of an earlier keeper; nil for none.
func (k *Keeper) remembered() *memory {
	text, err := os.ReadFile(filepath.Join(k.Settings.Scratch, memoryName))
	var m memory
	if err != nil || json.Unmarshal(text, &m) != nil {
		return nil
	}
	return &m
}

// repeat does a call until it succeeds, its error is final, or the context ends.
func (k *Keeper) repeat(ctx context.Context, what string, call func() error) error {
	var told retry.Log
	for failed := 1; ; failed++ {
		err := call()
		if err == nil || final(err) || ctx.Err() != nil {
			return err
		}
		pause := k.pause(failed)
		var logged bool
		if told, logged = told.Failed(err.Error(), time.Now()); logged {
			glog.Warningf("cannot %s, trying again in %s: %v", what, pause, err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// pause returns how long to wait after so many failed calls in a row.
func (k *Keeper) pause(failed int) time.Duration { return min(retry.After(failed), k.Settings.Retry) }

// final reports whether a call need not be repeated.
func final(err error) bool {
	return errors.Is(err, ErrStale) || errors.Is(err, ErrConflict) || errors.Is(err, ErrRefused) || errors.Is(err, errGivenUp)
}
