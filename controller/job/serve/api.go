package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// API serves the jobs API.
type API struct {
	Workspaces Workspaces
	Runs       Runs
	Renewals   Renewals
	Callers    Callers
	Store      blob.Store
	Secrets    SecretSource
	Limits     Limits
	// Clock returns the time for messages and orphans.
	Clock func() time.Time
}

// Limits bound what one keeper may have the controller do.
type Limits struct {
	// Blob is how large a blob may be, State how large the plain archive of a state to restore, in bytes.
	Blob, State int64
	// Uploads is the number of blobs that are received at once; further callers are asked to come back.
	Uploads int
	// Folder is where a blob is kept until it is received; "" for that of the system.
	Folder string
}

// DefaultLimits returns the limits of a controller.
func DefaultLimits() Limits { return Limits{Blob: job.MaxState, State: job.MaxState, Uploads: 4} }

// maxMessage is how large a message without content may be, in bytes: most of it are outputs, and JSON may write each of
// their bytes as six.
const maxMessage = 6*contract.MaxOutputBytes + 512<<10

// Handler returns the handler of all paths below runner.Path.
func (a *API) Handler() http.Handler {
	uploads := NewPlaces(a.Limits.Uploads)
	mux := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"POST %sclaim":                         message(a.claim),
		"POST %srenew":                         message(a.renew),
		"POST %scheckpoint":                    message(a.checkpoint),
		"POST %send":                           message(a.end),
		"GET %sblobs/{fence}":                  a.list,
		"GET %sblobs/{fence}/{name}":           a.get,
		"PUT %sblobs/{fence}/{name}":           placed(a.Runs, uploads, a.put),
		"GET %scontent":                        sender{a.Store, a.Runs}.content,
		"GET %ssecrets":                        lender{a}.secrets,
		"PUT %slogs/{fence}/{stream}/{number}": a.log,
	} {
		mux.Handle(fmt.Sprintf(pattern, runner.Path+"{run}/"), a.identified(h))
	}
	return mux
}

// handler answers a request of a caller. An error becomes the answer.
type handler func(w http.ResponseWriter, r *http.Request, c Caller) error

// identified answers requests whose token is that of the Run in the path.
func (a *API) identified(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := a.Callers.Identify(r)
		if err == nil && c.Run.UID != r.PathValue("run") {
			err = fmt.Errorf("%w: it is that of %s", ErrForbidden, c.Run)
		}
		if err == nil {
			err = h(w, r, c)
		}
		if err != nil {
			refuse(w, err)
		}
	})
}

// later is done when the answer is sent, so that the caller need not wait for it; nil for nothing.
type later func(ctx context.Context)

// message reads a JSON message and writes the answer.
func message[In, Out any](answer func(r *http.Request, c Caller, in In) (Out, later, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, c Caller) error {
		var in In
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxMessage)).Decode(&in); err != nil {
			return unreadable(err)
		}
		out, rest, err := answer(r, c, in)
		if err == nil {
			err = write(w, http.StatusOK, out)
		}
		if err == nil && rest != nil {
			_ = http.NewResponseController(w).Flush()
			rest(context.WithoutCancel(r.Context()))
		}
		return err
	}
}

// unreadable returns the error of a body that cannot be read.
func unreadable(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return fmt.Errorf("cannot read the request: %w", err)
	}
	return fmt.Errorf("cannot read the request: %w: %w", workspace.ErrInvalid, err)
}

// write writes a JSON answer.
func write(w http.ResponseWriter, status int, answer any) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("cannot write the answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // a caller that is gone repeats the request
	return nil
}

// number reads a number of the path or of a header.
func number(name, text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("cannot read %s %q: %w: it is not a number", name, text, workspace.ErrInvalid)
	}
	return int64(n), nil
}

// placed answers requests whose bodies have places. Tenants are namespaces.
func placed(runs Runs, places *Places, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request, c Caller) error {
		run, err := runs.Frozen(r.Context(), c.Run.UID)
		if err != nil {
			return err
		}
		leave, err := places.Take(w, r, run.Namespace)
		if err != nil {
			return err
		}
		defer leave()
		return h(w, r, c)
	}
}
