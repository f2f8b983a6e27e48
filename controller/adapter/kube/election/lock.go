package election

import (
	"context"
	"sync/atomic"

	"github.com/golang/glog"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lock is a Lease that is free if the process of its holder has ended.
type lock struct {
	resourcelock.Interface

	witness *witness
	// leads is set in a term, and deposed ends it.
	leads   *atomic.Bool
	deposed func()
}

// Get returns the record of the Lease, without a holder that has ended. A record that is written in its place is of the
// revision that was read: a holder that has renewed it meanwhile keeps it.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err != nil || record.HolderIdentity == l.Identity() {
		return record, raw, err
	}
	if l.leads.Load() {
		l.deposed()
	} else if l.witness.ended(ctx, record.HolderIdentity, l.Identity()) {
		glog.Infof("%s, which led, has ended", record.HolderIdentity)
		record.HolderIdentity = ""
	}
	return record, raw, nil
}
