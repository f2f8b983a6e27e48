package serve

import (
	"errors"
	"net/http"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// errBusy is the answer where too many requests come at once.
var errBusy = errors.New("too many requests of this kind are in progress")

// refusal is the answer to an error.
type refusal struct {
	of     error
	status int
	reason runner.Reason
	cure   string
}

// refusals are the answers to known errors.
//
//nolint:gochecknoglobals // a table
var refusals = []refusal{
	{ErrForbidden, http.StatusForbidden, runner.Forbidden, "a keeper's token is good for its own Run only: see the pod's service account"},
	{ErrKey, http.StatusForbidden, runner.Forbidden, "if its machine has joined anew, or is revoked, decide about the run by " +
		"orcon job unlock, then stop its agent, and remove container orcon-UID-N and folder runs/UID.N of the run"},
	{workspace.ErrInvalid, http.StatusBadRequest, runner.Invalid, "use a keeper of the controller's version"},
	{workspace.ErrStale, http.StatusConflict, runner.Stale, "stop the process: what it left is kept as an orphan"},
	{workspace.ErrVoid, http.StatusConflict, runner.Stale, "start nothing"},
	{workspace.ErrReplaced, http.StatusConflict, runner.Stale, "start nothing"},
	{workspace.ErrHeld, http.StatusConflict, runner.Held, "start nothing"},
	{workspace.ErrWaits, http.StatusConflict, runner.Waits, "decide, then it goes on by itself"},
	{workspace.ErrAhead, http.StatusConflict, runner.Waits, "decide, then it goes on by itself"},
	{blob.ErrConflict, http.StatusConflict, runner.Conflict, "blobs never change: use another name"},
	{blob.ErrLocked, http.StatusServiceUnavailable, runner.Unavailable, "add its key to the controller's keys: it goes on by itself"},
	{blob.ErrNotFound, http.StatusNotFound, runner.NotFound, "if it was a state: restore the store from its backup, or `orcon job state rollback`"},
}

// refuse writes an error as the answer.
func refuse(w http.ResponseWriter, err error) {
	found := refusal{status: http.StatusServiceUnavailable, reason: runner.Unavailable, cure: "try again"}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		found = refusal{status: http.StatusRequestEntityTooLarge, reason: runner.TooLarge, cure: "make the state smaller, or exclude files from it"}
	}
	for _, one := range refusals {
		if errors.Is(err, one.of) {
			found = one
			break
		}
	}
	if found.status == http.StatusServiceUnavailable {
		glog.Warningf("a keeper has to try again: %v", err)
		w.Header().Set("Retry-After", "1")
	}
	_ = write(w, found.status, runner.Problem{Error: err.Error(), Reason: found.reason, Cure: found.cure}) // texts always have a form
}
