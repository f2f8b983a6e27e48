package election

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/golang/glog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Periods are the times of a Lease.
type Periods struct {
	// Lease is how long a holder that cannot be reached is waited for; Renew is how long a holder that cannot
	// renew the Lease goes on; Retry is the pause between two attempts.
	Lease, Renew, Retry time.Duration
}

// DefaultPeriods returns periods that an API server without an answer for 8 s does not disturb.
func DefaultPeriods() Periods {
	return Periods{Lease: 12 * time.Second, Renew: 8 * time.Second, Retry: time.Second}
}

// Leader runs a loop while this replica holds the Lease. The end of a term ends the loop and nothing else of the
// process.
type Leader struct {
	// Lease is the lock. Its identity is one that Identity returns, or has no address.
	Lease resourcelock.Interface
	// Name is that of the metrics.
	Name string
	// Loop runs until its context ends, once for each term. Its failure is that of the process.
	Loop func(ctx context.Context) error

	Periods
}

// NeedLeaderElection is false: each replica is a candidate.
func (l *Leader) NeedLeaderElection() bool { return false }

// Start runs the loop in each term of this replica, until ctx ends. Then it gives the Lease up, after the loop has
// ended.
func (l *Leader) Start(ctx context.Context) error {
	witness := newWitness()
	for ctx.Err() == nil {
		if err := l.term(ctx, witness); err != nil {
			return err
		}
	}
	return nil
}

// term waits until this replica is elected, and runs the loop until the term ends.
func (l *Leader) term(ctx context.Context, witness *witness) error {
	term, end := context.WithCancel(ctx)
	defer end()
	var began atomic.Bool
	ended := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &lock{Interface: l.Lease, witness: witness, leads: &began, deposed: end},
		Name: l.Name, LeaseDuration: l.Periods.Lease, RenewDeadline: l.Renew, RetryPeriod: l.Retry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				began.Store(true)
				ended <- l.Loop(ctx)
				end()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("cannot elect a leader: %w", err)
	}
	elector.Run(term)
	if !began.Load() {
		return nil
	}
	err = <-ended
	l.resign(context.WithoutCancel(ctx))
	return err
}

// resign frees the Lease if this replica holds it.
func (l *Leader) resign(ctx context.Context) {
	defer glog.Infof("%s leads no longer", l.Lease.Identity())
	ctx, cancel := context.WithTimeout(ctx, l.Renew)
	defer cancel()
	record, _, err := l.Lease.Get(ctx)
	if err == nil && record.HolderIdentity == l.Lease.Identity() {
		now := metav1.Now()
		err = l.Lease.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now, LeaderTransitions: record.LeaderTransitions,
		})
	}
	if err != nil {
		glog.Warningf("cannot give up the lease %s: %v", l.Lease.Describe(), err)
	}
}
