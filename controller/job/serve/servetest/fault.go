package servetest

import (
	"context"
	"io"
	"net/http"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// Mortal returns an API whose handler dies after a write when die says so: the caller gets no answer, and no further
// write is done.
func Mortal(a serve.API, die func() bool) *serve.API {
	a.Store = mortalStore{a.Store, die}
	a.Workspaces = mortalWorkspaces{a.Workspaces, die}
	a.Runs = mortalRuns{a.Runs, die}
	return &a
}

// after ends the handler without an answer if it is to die.
func after(die func() bool) {
	if die() {
		panic(http.ErrAbortHandler)
	}
}

type mortalStore struct {
	blob.Store

	die func() bool
}

// Put implements blob.Store.
func (s mortalStore) Put(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	defer after(s.die)
	return s.Store.Put(ctx, key, content)
}

type mortalWorkspaces struct {
	serve.Workspaces

	die func() bool
}

// Swap implements serve.Workspaces.
func (w mortalWorkspaces) Swap(ctx context.Context, uid, version string, next workspace.Workspace) error {
	defer after(w.die)
	return w.Workspaces.Swap(ctx, uid, version, next)
}

type mortalRuns struct {
	serve.Runs

	die func() bool
}

// Report implements serve.Runs.
func (r mortalRuns) Report(ctx context.Context, uid string, report serve.Report) error {
	defer after(r.die)
	return r.Runs.Report(ctx, uid, report)
}
