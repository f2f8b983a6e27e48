package keeper

import (
	"context"
	"errors"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/chunk"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

const (
	// carryEvery is how often output is carried away at first.
	carryEvery = 500 * time.Millisecond
	// carryShare is the part of the time that a run has taken which its output may lag behind: output that comes in drops
	// makes few chunks, since their number is limited.
	carryShare = 1000
	// chunkSize is the size of the largest chunk, in bytes.
	chunkSize = 256 << 10
)

// lag returns how long to wait before output is carried away again.
func lag(passed time.Duration) time.Duration { return max(carryEvery, passed/carryShare) }

// carry carries the output away until finish has a value, then the rest of it within a time. The value reports whether
// the output has come to its end, so that nothing of it was lost with its container.
func (r *run) carry(ctx context.Context, finish <-chan bool) {
	if r.Chunks == nil {
		return
	}
	began, whole := time.Now(), false
	for going := true; going; {
		r.carryAll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(lag(time.Since(began))):
		case whole = <-finish:
			going = false
		}
	}
	bounded, end := context.WithTimeout(ctx, r.Settings.Drain)
	defer end()
	for !r.carryAll(bounded) || whole && !r.endAll(bounded) {
		select {
		case <-bounded.Done():
			glog.Errorf("cannot carry all output away within %s: the end of the log is missing", r.Settings.Drain)
			return
		case <-time.After(r.pause(1)):
		}
	}
}

// outputs returns the carriers of the standard output and error.
func (r *run) outputs() (all []chunk.Carrier) {
	for _, stream := range []string{log.Stdout, log.Stderr} {
		all = append(all, chunk.Carrier{
			Output: r.Exchange.Output(), Stream: stream, Scratch: r.Settings.Scratch, Fence: r.hold.Fence, Sink: r.Chunks, Size: chunkSize,
		})
	}
	return all
}

// files returns the carrier of the log files.
func (r *run) files() *chunk.Files {
	return &chunk.Files{Folder: r.Settings.Logs, Scratch: r.Settings.Scratch, Fence: r.hold.Fence, Sink: r.Chunks, Size: chunkSize}
}

// carryAll carries what is there. It reports whether nothing is left.
func (r *run) carryAll(ctx context.Context) bool {
	done := true
	for _, c := range r.outputs() {
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
	if r.Settings.Logs != "" {
		left, err := r.files().Carry(ctx)
		if err != nil {
			glog.Warningf("%v", err)
			done = false
		}
		r.leave(left)
	}
	return done && ctx.Err() == nil
}

// leave reports files that are not carried, when there are more of them than before.
func (r *run) leave(files []string) {
	if len(files) <= r.left {
		return
	}
	r.left = len(files)
	glog.Errorf("%d files below %s are not stored, such as %q: at most %d are: write into fewer ones", len(files), r.Settings.Logs,
		files[0], log.MaxFiles)
}

// endAll marks the end of all that was carried. It reports whether that is done.
func (r *run) endAll(ctx context.Context) bool {
	var err error
	for _, c := range r.outputs() {
		err = errors.Join(err, c.End(ctx))
	}
	if r.Settings.Logs != "" {
		err = errors.Join(err, r.files().End(ctx))
	}
	if err != nil {
		glog.Warningf("%v", err)
	}
	return err == nil
}
