package people

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// push makes a state that a person gives the next generation. The whole archive is received and verified before the lock
// is taken, so that the hold is short.
func (a *API) push(w http.ResponseWriter, r *http.Request, c call) error {
	because := strings.TrimSpace(r.URL.Query().Get(people.Because))
	if because == "" {
		return invalid("because", "it is missing: give the reason, for those who read of the push later")
	}
	seen, err := strconv.ParseInt(r.URL.Query().Get(people.Generation), 10, 64)
	if err != nil {
		return invalid("generation", "it is not a number: give that of the current generation, which the push replaces")
	}
	uid, err := a.Objects.Workspace(r.Context(), c.namespace, c.name)
	if err != nil {
		return err
	}
	got, err := a.receive(http.MaxBytesReader(w, r.Body, a.Limits.Blob))
	if err != nil {
		return err
	}
	defer got.remove()
	if err := a.pushed(r.Context(), uid, pushing{by: c.person.Name, seen: seen, received: got}); err != nil {
		return err
	}
	a.record(r, c, uid, StatePushed, "pushed the state "+got.Digest, because)
	shown, err := a.show(r.Context(), c, uid)
	if err != nil {
		return fmt.Errorf("the state of %s is stored, but cannot be shown: %w", c, err)
	}
	return write(w, http.StatusOK, shown)
}

// pushing is a state that a person makes the next generation.
type pushing struct {
	received

	// by is the person, and seen the current generation that the person saw.
	by   string
	seen int64
	// adopts describes the state if it is one that another JobWorkspace left; "" for another one.
	adopts string
}

// pushed takes the lock, stores an archive below its fence, and commits it. A push whose effect is done changes nothing.
func (a *API) pushed(ctx context.Context, uid string, p pushing) error {
	seen, got := p.seen, p.received
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s", p.by, seen, got.Digest))
	run := workspace.Run{UID: "push-" + hex.EncodeToString(sum[:16]), Name: p.by, Person: true}
	records, done := serve.Records{Store: a.Store}, false
	w, err := serve.Change(ctx, a.Workspaces, uid, func(w workspace.Workspace) (workspace.Workspace, error) {
		done = w.State.Number == seen+1 && w.State.Digest == got.Digest
		switch {
		case done:
			return w, nil
		case w.State.Number != seen:
			return w, fmt.Errorf("cannot push a state to %s: %w: generation %d is current, not %d: look at it with `orcon job state show %[1]s`",
				w.Name, workspace.ErrChanged, w.State.Number, seen)
		}
		extent, err := evidence.Extent(ctx, a.Store, uid, w)
		if err != nil {
			return w, err
		}
		if p.adopts != "" {
			extent.Left = 0 // this is the decision about it
		}
		return w.Acquire(workspace.Admission{Run: run, Published: w.Last.Fence, Extent: extent, Now: a.Clock()})
	})
	if err != nil || done {
		return err
	}
	// From here on the hold is ended in any case; if that fails, it expires.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), holdTime)
	defer stop()
	fence := w.Lock.Fence
	key := blob.Key{Workspace: uid, Fence: fence, Name: got.name}
	end := workspace.Capture{
		Run: run, Fence: fence, Base: w.Lock.Base, Outcome: job.Committed, Now: a.Clock(),
		Blob: workspace.Blob{Digest: got.Digest, Key: key.String(), Fence: fence},
	}
	if p.adopts != "" {
		end.Author = p.by + ", adopted from " + p.adopts
	}
	failed := records.Claim(ctx, uid, fence, run.UID)
	if failed == nil {
		failed = a.Store.Put(ctx, key, got.file)
	}
	if failed != nil {
		end.Outcome, end.Exit, end.Blob = job.None, job.Exit{Cause: job.NotStarted}, workspace.Blob{}
	}
	return a.end(ctx, uid, end, failed)
}

// holdTime is how long a push may hold the lock, and its end may take beside that.
const holdTime = 30 * time.Second

// end ends the hold of a push, which may have failed before, as its time had passed.
func (a *API) end(ctx context.Context, uid string, end workspace.Capture, failed error) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), holdTime)
	defer stop()
	records := serve.Records{Store: a.Store}
	var outcome job.Outcome
	w, err := serve.Change(ctx, a.Workspaces, uid, func(w workspace.Workspace) (next workspace.Workspace, err error) {
		if end.Extent, err = evidence.Extent(ctx, a.Store, uid, w); err != nil {
			return w, err
		}
		next, outcome, err = w.End(end)
		return next, err
	})
	switch {
	case failed != nil:
		if err != nil {
			glog.Warningf("the lock of a push that failed is held until it expires: %v", err)
		}
		return fmt.Errorf("cannot push the state: %w", failed)
	case err != nil:
		return err
	case !outcome.Releases():
		return fmt.Errorf("cannot push the state: %w: its outcome is %s: `orcon job state show %s`", workspace.ErrAhead, outcome, w.Name)
	}
	records.Generation(ctx, uid, w)
	return nil
}
