package keeper

import (
	"context"
	"errors"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/chunk"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/redaction"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/retry"
)

const (
	// carryEvery is how often output is carried away at first.
	carryEvery = 500 * time.Millisecond
	// carryShare is the part of the time that a run has taken which its output may lag behind: output that comes in drops
	// makes few chunks, since their number is limited.
	carryShare = 1000
	// chunkSize is the size of the largest chunk, in bytes.
	chunkSize = 256 << 10
	// mostDrains bounds how long output that still goes away keeps an ended run, in times of Settings.Drain.
	mostDrains = 6
)

// lag returns how long to wait before output is carried away again.
func lag(passed time.Duration) time.Duration { return max(carryEvery, passed/carryShare) }

// cargo is the output of one run, and how it is carried away.
type cargo struct {
	run *run
	// secrets are replaced in log files; in the outputs the shim has replaced them.
	secrets redaction.Mounted
	// over reports that the template has ended: no log file grows any more.
	over bool
	// left is the number of log files that are not carried.
	left int
	// failed is how often in a row something could not be carried, and told what was logged of that.
	failed int
	told   retry.Log
	// idle ends the carrying of the rest when nothing has gone away for a time; nil before.
	idle *time.Timer
}

// carry carries the output away until finish has a value, then the rest of it, as long as that goes on. The value reports
// whether the output has come to its end, so that nothing of it was lost with its container.
func (c *cargo) carry(ctx context.Context, finish <-chan bool) {
	if c.run.Chunks == nil {
		return
	}
	began, whole := time.Now(), false
	c.secrets.Path = c.run.Settings.Secrets
	for going := true; going; {
		c.all(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(c.wait(time.Since(began))):
		case whole = <-finish:
			going = false
		}
	}
	c.over = true
	bounded, end := context.WithTimeout(ctx, mostDrains*c.run.Settings.Drain)
	defer end()
	c.idle = time.AfterFunc(c.run.Settings.Drain, end)
	defer c.idle.Stop()
	for !c.all(bounded) || whole && !c.end(bounded) {
		select {
		case <-bounded.Done():
			glog.Errorf("cannot carry all output away: nothing went for %s, or it took too long: the end of the log is missing",
				c.run.Settings.Drain)
			return
		case <-time.After(c.run.pause(1)):
		}
	}
}

// wait returns how long to wait before output is carried away again: longer where that fails.
func (c *cargo) wait(passed time.Duration) time.Duration {
	if c.failed == 0 {
		return lag(passed)
	}
	return max(lag(passed), c.run.pause(c.failed))
}

// outputs returns the carriers of the standard output and error.
func (c *cargo) outputs() (all []chunk.Carrier) {
	for _, stream := range []string{log.Stdout, log.Stderr} {
		all = append(all, chunk.Carrier{
			Output: c.run.Exchange.Output(), Stream: stream, Scratch: c.run.Settings.Scratch, Fence: c.run.hold.Fence, Sink: c.run.Chunks,
			Size: chunkSize,
		})
	}
	return all
}

// files returns the carrier of the log files.
func (c *cargo) files() *chunk.Files {
	return &chunk.Files{
		Folder: c.run.Settings.Logs, Scratch: c.run.Settings.Scratch, Fence: c.run.hold.Fence, Sink: c.run.Chunks, Size: chunkSize,
		Secrets: &c.secrets, Last: c.over,
	}
}

// all carries what is there. It reports whether nothing is left.
func (c *cargo) all(ctx context.Context) bool {
	var failed error
	for _, output := range c.outputs() {
		for carried := true; carried && ctx.Err() == nil; {
			var err error
			carried, err = output.Carry(ctx)
			failed = errors.Join(failed, err)
			if carried && c.idle != nil {
				c.idle.Reset(c.run.Settings.Drain)
			}
		}
	}
	if c.run.Settings.Logs != "" && c.run.unknown == nil {
		left, err := c.files().Carry(ctx)
		failed = errors.Join(failed, err)
		c.leave(left)
	}
	return c.done(failed) && ctx.Err() == nil
}

// leave reports files that are not carried, when there are more of them than before.
func (c *cargo) leave(files []string) {
	if len(files) <= c.left {
		return
	}
	c.left = len(files)
	glog.Errorf("%d files below %s are not stored, such as %q: at most %d are: write into fewer ones", len(files), c.run.Settings.Logs,
		files[0], log.MaxFiles)
}

// end marks the end of all that was carried. It reports whether that is done.
func (c *cargo) end(ctx context.Context) bool {
	var err error
	for _, output := range c.outputs() {
		err = errors.Join(err, output.End(ctx))
	}
	if c.run.Settings.Logs != "" && c.run.unknown == nil {
		err = errors.Join(err, c.files().End(ctx))
	}
	return c.done(err)
}

// done reports whether there was no error.
func (c *cargo) done(err error) bool {
	if err == nil {
		c.failed, c.told = 0, retry.Log{}
		return true
	}
	c.failed++
	var logged bool
	if c.told, logged = c.told.Failed(err.Error(), time.Now()); logged {
		glog.Warningf("%v", err)
	}
	return false
}
