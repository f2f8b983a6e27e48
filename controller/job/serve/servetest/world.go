package servetest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// World keeps Workspaces, Runs, callers and what is written about them. The zero value is empty. It outlives servers, as
// a cluster does.
type World struct {
	mutex      sync.Mutex
	workspaces map[string]workspace.Workspace
	versions   map[string]int
	runs       map[string]serve.Run
	reports    map[string]serve.Report
	callers    map[string]serve.Caller
	renewals   map[string][]serve.Renewal
	history    map[string][]workspace.Workspace
}

// set returns a map with one more entry.
func set[V any](m map[string]V, key string, value V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = value
	return m
}

// Add adds a caller with its Run, who sends the token.
func (w *World) Add(token string, c serve.Caller, r serve.Run) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.callers, w.runs = set(w.callers, token, c), set(w.runs, c.Run.UID, r)
}

// Cancel cancels a Run.
func (w *World) Cancel(run string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	r := w.runs[run]
	r.Cancel = true
	w.runs = set(w.runs, run, r)
}

// Change changes a Workspace as a controller or a person does, against all requests.
func (w *World) Change(uid string, change func(workspace.Workspace) (workspace.Workspace, error)) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	next, err := change(w.workspaces[uid])
	if err == nil {
		w.store(uid, next)
	}
	return err
}

// store stores a Workspace.
func (w *World) store(uid string, next workspace.Workspace) {
	w.workspaces = set(w.workspaces, uid, next)
	w.versions = set(w.versions, uid, w.versions[uid]+1)
	w.history = set(w.history, uid, append(w.history[uid], next))
}

// Workspace returns a Workspace, History all its values.
func (w *World) Workspace(uid string) workspace.Workspace {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.workspaces[uid]
}

// History returns all values of a Workspace, in order.
func (w *World) History(uid string) []workspace.Workspace {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return append([]workspace.Workspace(nil), w.history[uid]...)
}

// Renewals returns those of a Run.
func (w *World) Renewals(run string) []serve.Renewal {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return append([]serve.Renewal(nil), w.renewals[run]...)
}

// ReportOf returns what the template of a Run reported.
func (w *World) ReportOf(run string) serve.Report {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.reports[run]
}

// Workspaces returns the port; the others are alike.
func (w *World) Workspaces() serve.Workspaces { return workspaces{w} }

// Runs returns the port.
func (w *World) Runs() serve.Runs { return runs{w} }

type workspaces struct{ *World }

// Get implements serve.Workspaces.
func (w workspaces) Get(_ context.Context, uid string) (serve.Stored, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return serve.Stored{Version: strconv.Itoa(w.versions[uid]), Workspace: w.workspaces[uid]}, nil
}

// Recent implements serve.Workspaces, by the value before the last one.
func (w workspaces) Recent(_ context.Context, uid string) (serve.Stored, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	past, version := w.history[uid], w.versions[uid]
	if len(past) < 2 {
		return serve.Stored{}, fmt.Errorf("workspace %s is not at hand: %w", uid, workspace.ErrStale)
	}
	return serve.Stored{Version: strconv.Itoa(version - 1), Workspace: past[len(past)-2]}, nil
}

// Swap implements serve.Workspaces.
func (w workspaces) Swap(_ context.Context, uid, version string, next workspace.Workspace) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if version != strconv.Itoa(w.versions[uid]) {
		return fmt.Errorf("cannot store workspace %s: %w", uid, serve.ErrMoved)
	}
	w.store(uid, next)
	return nil
}

type runs struct{ *World }

// Get implements serve.Runs.
func (w runs) Get(_ context.Context, uid string) (serve.Run, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.runs[uid], nil
}

// Frozen implements serve.Runs, by a copy of before any cancel.
func (w runs) Frozen(ctx context.Context, uid string) (serve.Run, error) {
	r, err := w.Get(ctx, uid)
	r.Cancel = false
	return r, err
}

// Report implements serve.Runs.
func (w runs) Report(_ context.Context, uid string, r serve.Report) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.reports[uid].Fence != r.Fence {
		w.reports = set(w.reports, uid, r)
	}
	return nil
}

// Renewed implements serve.Renewals.
func (w *World) Renewed(_ context.Context, r serve.Renewal) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.renewals = set(w.renewals, r.Run, append(w.renewals[r.Run], r))
	return nil
}

// Stranger is the token of a RunNode whose key is not good for the Run.
const Stranger = "stranger"

// Identify implements serve.Callers.
func (w *World) Identify(r *http.Request) (serve.Caller, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	c, known := w.callers[token]
	if token == Stranger {
		return serve.Caller{}, serve.ErrKey
	}
	if !known {
		return serve.Caller{}, fmt.Errorf("cannot find out who calls: %w", serve.ErrForbidden)
	}
	return c, nil
}
