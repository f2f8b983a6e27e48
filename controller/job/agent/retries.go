package agent

import (
	"context"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/retry"
)

// Retries holds failures in a row, with a pause after each.
type Retries struct {
	// Longest is the longest pause.
	Longest time.Duration

	failed int
	told   retry.Log
}

// Wait logs a failure, unless it was logged within a minute, and waits before the next attempt.
func (r *Retries) Wait(ctx context.Context, err error) {
	r.failed++
	pause := min(retry.After(r.failed), r.Longest)
	var logged bool
	if r.told, logged = r.told.Failed(err.Error(), time.Now()); logged {
		glog.Warningf("%v; trying again in %s; while it fails like this, that is logged once a minute", err, pause)
	}
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}
