package keeper

import (
	"context"
	"fmt"
	"sync"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// delay is what a run has to try again, for renewals.
type delay struct {
	mutex sync.Mutex
	now   job.Delay
}

// enter notes that a run has come to another stage, where nothing has failed yet.
func (d *delay) enter(s job.Stage) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.now.Stage != s {
		d.now = job.Delay{Stage: s}
	}
}

// note notes how a call has ended that began at a stage.
func (d *delay) note(s job.Stage, what string, err error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.now.Stage != s {
		return
	}
	if d.now.Why = ""; err != nil {
		d.now.Why = fmt.Sprintf("cannot %s: %v", what, err)
	}
}

// hold notes that the container of a template that has failed is held.
func (d *delay) hold(h exchange.Failed) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.now = job.Delay{
		Stage: job.Concluding, Why: fmt.Sprintf("it failed with exit code %d, and its container is held for %s: a cancel ends that", h.Code, h.Hold),
	}
}

// reason returns what has to be tried again.
func (d *delay) reason() job.Delay {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.now
}

// persist does a call as repeat does. Renewals tell why it fails, as long as the run is at the same stage.
func (r *run) persist(ctx context.Context, what string, call func() error) error {
	stage := r.delay.reason().Stage
	return r.repeat(ctx, what, func() error {
		err := call()
		r.delay.note(stage, what, err)
		return err
	})
}
