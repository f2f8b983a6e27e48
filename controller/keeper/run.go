package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/logs"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/backend"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/retry"
)

// run is a claimed run.
type run struct {
	*Keeper

	hold     Hold
	holder   Holder
	captures captures
	delay    delay
	// unknown is why the secrets of a run that has some are not known; nil where they are.
	unknown error

	mutex sync.Mutex
	// acknowledged is when the last renewal was sent that was acknowledged.
	acknowledged time.Duration
	// due is why the template must be stopped; "" for no reason.
	due string
	// vanished is when the shim was first missed.
	vanished time.Duration
}

// newRun returns a run of a hold that was last acknowledged by an answer to what was sent at a time.
func newRun(k *Keeper, m memory) *run {
	hold := m.Hold
	r := &run{Keeper: k, hold: hold, holder: Holder{k.Claimant, hold.Fence}, acknowledged: m.Acknowledged}
	r.delay.enter(job.Preparing)
	r.captures = captures{run: r, sequence: hold.Sequence, last: r.base()}
	return r
}

// base returns the digest of the state that was restored.
func (r *run) base() string {
	if r.hold.Base == nil {
		return ""
	}
	return r.hold.Base.Digest
}

// renewals is how many renewals are due at least within the time after which a run counts as lost.
const renewals = 4

// renew proves that the keeper lives, until the end of the context. One that fails is repeated sooner.
func (r *run) renew(ctx context.Context) {
	every := min(r.Settings.Renew, r.hold.Lost/renewals)
	var told retry.Log
	for failed := 0; ; {
		sent := r.Clock()
		bounded, end := context.WithTimeout(ctx, every)
		answer, err := r.Ledger.Renew(bounded, r.holder, r.delay.reason())
		end()
		next := sent + every - r.Clock()
		switch {
		case final(err):
			r.stop(err.Error())
			return
		case err != nil:
			failed++
			next = min(r.pause(failed), every)
			var logged bool
			if told, logged = told.Failed(err.Error(), time.Now()); logged {
				glog.Warningf("cannot renew the hold, trying again in %s: %v", next, err)
			}
		default:
			failed, told = 0, retry.Log{}
			r.acknowledge(sent, answer)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
		}
	}
}

// acknowledge notes an answer to a renewal that was sent at a time, also for a keeper that is started again. It comes
// too late for a run that counts as lost already.
func (r *run) acknowledge(sent time.Duration, answer Renewal) {
	if answer.Cancel {
		r.stop("the run is cancelled")
	}
	if r.reason() != "" {
		return
	}
	if err := r.remember(memory{r.hold, sent}); err != nil {
		glog.Warningf("a keeper that is started again may stop the template too early: %v", err)
	}
	if err := r.Exchange.WriteRenewed(exchange.Renewed{Sent: sent}); err != nil {
		glog.Warningf("the shim may stop the template too early: %v", err)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.acknowledged = sent
}

// stop has the template stopped. Only the first reason counts.
func (r *run) stop(reason string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.due == "" {
		r.due = reason
	}
}

// reason returns why the template must be stopped.
func (r *run) reason() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.due == "" && r.hold.lost(r.Clock(), r.acknowledged) {
		r.due = fmt.Sprintf("no renewal was acknowledged for %s", r.hold.Lost)
	}
	return r.due
}

// prepare restores what the template finds when it starts.
func (r *run) prepare(ctx context.Context) error {
	if err := empty(r.Settings.State); err != nil {
		return fmt.Errorf("cannot empty the folder of the state: %w", err)
	}
	if base := r.hold.Base; base != nil {
		if err := r.fetch(ctx, *base, r.Settings.State); err != nil {
			return err
		}
	}
	if err := (planning{r}).prepare(ctx); err != nil {
		return err
	}
	files := logFiles{r.Blobs, logs.Attempt{Workspace: r.hold.Workspace, Fence: r.hold.LogsFence}, r.Settings.Logs}
	err := r.persist(ctx, "restore the log files", func() error {
		if reason := r.reason(); reason != "" {
			return fmt.Errorf("%w: %s", errGivenUp, reason)
		}
		return files.restore(ctx)
	})
	if err != nil {
		return fmt.Errorf("cannot restore the log files: %w", err)
	}
	if err := (laying{r}).lay(ctx); err != nil {
		return fmt.Errorf("cannot copy the content of the template: %w", err)
	}
	if err := (leasing{r}).lease(ctx); err != nil {
		return err
	}
	if r.hold.Parameters != "" {
		file := filepath.Join(r.Settings.State, contract.ParametersFile)
		if err := os.WriteFile(file, []byte(r.hold.Parameters), 0o600); err != nil {
			return fmt.Errorf("cannot write the parameters: %w", err)
		}
	}
	if reason := r.reason(); reason != "" {
		return fmt.Errorf("cannot start the template: %s", reason)
	}
	return nil
}

// permit lets the shim start.
func (r *run) permit() error {
	environment := r.hold.Environment
	if r.Settings.Backend != "" {
		environment = append(slices.Clone(environment), contract.BackendEnvironment("http://"+r.Settings.Backend+backend.Path)...)
	}
	spare := exchange.Stop{Grace: r.hold.Grace, Reason: "the run is stopped, and the disk is full"}
	if err := exchange.WriteSpare(r.Exchange, spare); err != nil {
		return err
	}
	return r.Exchange.WriteStart(r.start(environment))
}

// start returns what the shim gets to know. A run that is not exclusive is stopped by the shim too, where no keeper is
// left to do it.
func (r *run) start(environment []string) exchange.Start {
	s := exchange.Start{Environment: environment, Grace: r.hold.Grace}
	if !r.hold.Exclusive {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		s.Lost, s.Acknowledged = r.hold.Lost, r.acknowledged
	}
	return s
}

// empty removes what an earlier restore left.
func empty(folder string) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, e.Name())))
	}
	return err
}

// abandon ends a run whose template was never started.
func (r *run) abandon(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	message := exchange.Ended{Code: contract.Refused, Message: err.Error()}
	return errors.Join(err, r.end(ctx, End{Outcome: job.None, Base: r.hold.Generation, Process: message, Message: err.Error()}))
}

// follow lets the template start, if that is prepared, waits until it has ended, and returns how. It serves Terraform's
// state first: the first request of a program may be for it.
func (r *run) follow(ctx context.Context, prepared bool) (exchange.Ended, error) {
	checkpoints := time.NewTicker(r.Settings.Checkpoint)
	defer checkpoints.Stop()
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	beside, end := context.WithCancel(ctx)
	stop, err := r.serve(beside)
	defer func() {
		end() // no checkpoint delays the capture
		stop()
	}()
	if err == nil && prepared {
		err = r.permit()
	}
	if err != nil {
		return exchange.Ended{}, err
	}
	r.delay.enter(job.Carrying)
	terminate := r.Terminate
	hurried := false
	for {
		select {
		case <-ctx.Done():
			return exchange.Ended{}, ctx.Err()
		case <-terminate:
			terminate, hurried = nil, true
			r.stop("the keeper is stopped")
		case <-checkpoints.C:
			r.captures.begin(beside)
		case <-ticks.C:
		}
		if reason := r.reason(); reason != "" {
			if err := r.Exchange.WriteStop(exchange.Stop{Grace: r.hold.Grace, Reason: reason}); err != nil {
				return exchange.Ended{}, err
			}
		}
		ended, err := r.look(hurried)
		if err != nil {
			return exchange.Ended{}, err
		}
		if ended != nil {
			r.delay.enter(job.Concluding)
			return *ended, nil
		}
	}
}

// settle is how long the shim must be missed: the kernel releases its lock a moment before it kills the rest of the
// container.
const settle = time.Second

// look returns how the template ended; nil while it may still run. A shim that has ended without a report took the
// template with it. One that was never there is waited for, unless the keeper is stopped.
func (r *run) look(hurried bool) (*exchange.Ended, error) {
	// The order counts: what is written before the shim ends is seen after its end was.
	alive, err := r.Exchange.Shim().Alive()
	if err != nil {
		return nil, err
	}
	held, err := exchange.ReadFailed(r.Exchange)
	if err == nil && held != nil {
		r.delay.hold(*held)
	}
	ended, err := r.Exchange.ReadEnded()
	if errors.Is(err, exchange.ErrSpoilt) {
		return vanished(err.Error()), nil // no part of the runner can tell more
	}
	if err != nil || ended != nil || alive {
		return ended, err
	}
	started, err := r.Exchange.ReadStarted()
	if errors.Is(err, exchange.ErrSpoilt) {
		started, err = &exchange.Started{}, nil
	}
	switch {
	case err != nil:
		return nil, err
	case started != nil && r.vanished == 0:
		r.vanished = r.Clock()
		return nil, nil
	case started != nil && r.Clock()-r.vanished < settle:
		return nil, nil
	case started != nil:
		end := vanished("its container ended")
		if err := r.Exchange.WriteEnded(*end); err != nil {
			glog.Warningf("%v", err) // the disk may be full: a shim that comes back starts nothing
			return end, nil
		}
		return nil, nil // and what is written is read, if a shim came back meanwhile
	case hurried:
		return nil, r.Exchange.WriteEnded(exchange.Ended{Code: contract.Refused, Message: "it was stopped before its container started"})
	}
	return nil, nil
}

// vanished returns the end of a template whose reason alone is known.
func vanished(reason string) *exchange.Ended {
	return &exchange.Ended{Code: contract.Vanished, Ran: true, Killed: true, Message: reason}
}

// conclude captures the state, records the end and lets the shim exit.
func (r *run) conclude(ctx context.Context, process exchange.Ended) error {
	if !process.Ran {
		return r.end(ctx, End{Outcome: job.None, Base: r.hold.Generation, Process: process, Message: process.Message})
	}
	return r.end(ctx, planning{r}.keep(ctx, process, r.captures.final(ctx, process)))
}

// end records the end until it is recorded, and lets the shim exit.
func (r *run) end(ctx context.Context, e End) error {
	err := r.persist(ctx, "record the end", func() error { return r.Ledger.End(ctx, r.holder, e) })
	if err != nil && !final(err) {
		return fmt.Errorf("cannot record the end of the run: %w", err)
	}
	switch {
	case errors.Is(err, ErrStale):
		err = fmt.Errorf("cannot record the end of the run: its state is kept as an orphan: %w", err)
	case err != nil:
		err = fmt.Errorf("cannot record the end of the run: %w", err)
	}
	return errors.Join(err, r.Exchange.WriteOutcome(exchange.Outcome{Code: e.Process.Code}))
}
