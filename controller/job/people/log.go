package people

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/logs"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// question holds the parameters of a request for a log.
type question struct {
	follow bool
	// since leaves out what was stored before; the zero value leaves out nothing.
	since time.Time
	// attempt is 0 for the last one, and all that follow.
	attempt int
	// file is /logs/PATH; "" for the standard output and error.
	file string
	// workspace is the name of the run's JobWorkspace; "" where it was not given.
	workspace string
}

// questionOf reads the parameters of a request.
func (a *API) questionOf(r *http.Request) (q question, err error) {
	asked := r.URL.Query()
	if text := asked.Get(people.Follow); text != "" {
		if q.follow, err = strconv.ParseBool(text); err != nil {
			return q, invalid("follow", fmt.Sprintf("%q is neither true nor false", text))
		}
	}
	if text := asked.Get(people.Since); text != "" {
		ago, err := time.ParseDuration(text)
		if err != nil || ago <= 0 {
			return q, invalid("since", fmt.Sprintf("%q is not a duration, such as 30s, 10m or 1h30m", text))
		}
		q.since = a.Clock().Add(-ago)
	}
	if text := asked.Get(people.Attempt); text != "" {
		if q.attempt, err = strconv.Atoi(text); err != nil || q.attempt < 1 {
			return q, invalid("attempt", fmt.Sprintf("%q is not a number from 1", text))
		}
	}
	q.file, q.workspace = asked.Get(people.File), asked.Get(people.Of)
	if q.file != "" && (q.follow || !q.since.IsZero()) {
		return q, invalid("file", "a file is sent as a whole: leave follow and since out")
	}
	return q, nil
}

// log sends the log of a run from the store, whether its pod exists or not. One that is followed ends when the run has
// ended.
func (a *API) log(w http.ResponseWriter, r *http.Request, c call) error {
	q, err := a.questionOf(r)
	if err != nil {
		return err
	}
	run, err := a.run(r.Context(), c, q.workspace)
	switch {
	case err != nil:
		return err
	case run.Fence == 0 && !q.follow:
		return fmt.Errorf("cannot read the log of JobRun %s: %w: the run has not started", c, ErrNotFound)
	case q.attempt > run.Attempt && run.Attempt > 0:
		return fmt.Errorf("cannot read the log of JobRun %s: %w: it has %s, not %d", c, ErrNotFound,
			job.Counted(run.Attempt, "attempt", "attempts"), q.attempt)
	}
	if q.file != "" {
		return a.file(w, r, logs.Attempt{Workspace: run.Workspace, Fence: run.fence(q.attempt)}, q.file)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	out := http.NewResponseController(w)
	_ = out.SetWriteDeadline(time.Time{}) // a log is followed for hours
	read := reader{store: a.Store, out: w, since: q.since}
	err = a.follow(r.Context(), c, q, run, &read, out.Flush)
	if err != nil && !read.began {
		return err
	}
	if err != nil && r.Context().Err() == nil {
		glog.Warningf("cannot send the log of JobRun %s: %v", c, err)
		panic(http.ErrAbortHandler) // so that the receiver never takes a part for the whole
	}
	return nil
}

// file sends a file that a run wrote below /logs.
func (a *API) file(w http.ResponseWriter, r *http.Request, of logs.Attempt, name string) error {
	names, err := logs.List(r.Context(), a.Store, of)
	if err != nil {
		return err
	}
	switch {
	case len(names) == 0:
		return fmt.Errorf("cannot read the log: %w: there is no %q: nothing is stored of this attempt", ErrNotFound, name)
	case !slices.Contains(names, name):
		return fmt.Errorf("cannot read the log: %w: there is no %q: use one of %s", ErrNotFound, name, strings.Join(names, ", "))
	}
	text, _, err := logs.Read(r.Context(), a.Store, of, name)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.Copy(w, text) // a caller that is gone asks again
	return nil
}

// quietLooks is how many looks in a row must find nothing after the end of a run: its keeper may still be sending.
const quietLooks = 3

// follow sends a log until the run has ended, or what there is of it.
func (a *API) follow(ctx context.Context, c call, q question, run Run, read *reader, flush func() error) error {
	for quiet := 0; ; {
		fence := run.fence(q.attempt)
		found, err := read.more(ctx, run.Workspace, fence)
		if err != nil {
			return err
		}
		if quiet++; found || !run.Ended && fence == run.Fence {
			quiet = 0
		}
		if quiet == quietLooks || !q.follow {
			return read.finish()
		}
		read.began = true
		if err := errors.Join(flush(), wait(ctx, a.Poll)); err != nil {
			return err
		}
		if run, err = a.run(ctx, c, q.workspace); err != nil {
			return err
		}
	}
}

// wait returns when a time has passed, or with an error when ctx has ended.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// fence returns the fence of an attempt; 0 means the last one.
func (r Run) fence(attempt int) int64 {
	if attempt == 0 || r.Attempt == 0 {
		return r.Fence
	}
	return r.Fence - int64(r.Attempt-attempt)
}
