package keeper

import (
	"context"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/chunk"
)

const (
	// carryEvery is how often output is carried away: output that comes in drops makes few chunks.
	carryEvery = 500 * time.Millisecond
	// chunkSize is the size of the largest chunk, in bytes.
	chunkSize = 256 << 10
)

// carry carries the output away until finish is closed, then the rest of it within a time.
func (r *run) carry(ctx context.Context, finish <-chan struct{}) {
	if r.Chunks == nil {
		return
	}
	ticks := time.NewTicker(carryEvery)
	defer ticks.Stop()
	for {
		r.carryAll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			continue
		case <-finish:
		}
		break
	}
	bounded, end := context.WithTimeout(ctx, r.Settings.Drain)
	defer end()
	for !r.carryAll(bounded) {
		select {
		case <-bounded.Done():
			glog.Errorf("cannot carry all output away within %s: the end of the log is missing", r.Settings.Drain)
			return
		case <-time.After(r.pause(1)):
		}
	}
}

// carryAll carries what is there. It reports whether nothing is left.
func (r *run) carryAll(ctx context.Context) bool {
	done := true
	for _, stream := range []string{"stdout", "stderr"} {
		c := chunk.Carrier{
			Output: r.Exchange.Output(), Stream: stream, Scratch: r.Settings.Scratch, Fence: r.hold.Fence, Sink: r.Chunks, Size: chunkSize,
		}
		for ctx.Err() == nil {
			carried, err := c.Carry(ctx)
			if err != nil {
				glog.Warningf("%v", err)
				done = false
			}
			if !carried {
				break
			}
		}
	}
	return done && ctx.Err() == nil
}
