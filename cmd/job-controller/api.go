package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/jobs"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
)

// handler returns the handler of the jobs API.
func (c *controller) handler() http.Handler {
	live, writer := c.manager.GetAPIReader(), c.manager.GetClient()
	objects := jobs.Objects{Cache: c.manager.GetCache(), Live: live}
	limits := serve.DefaultLimits()
	limits.Folder = c.received
	server := &serve.API{
		Workspaces: jobs.Workspaces{Objects: objects, Writer: writer},
		Runs:       jobs.Runs{Objects: objects, Writer: writer},
		Renewals:   c.renewals,
		Callers:    jobs.NewCallers(live, writer),
		Store:      c.blobs,
		Limits:     limits,
		Clock:      time.Now,
	}
	return server.Handler()
}

// api is the server of the jobs API.
type api struct{ http.Server }

// leave is how long requests may take that are under way when the process ends; keepers repeat what is cut off.
const leave = 10 * time.Second

// Start serves until the context ends.
func (a *api) Start(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- a.ListenAndServeTLS("", "") }()
	select {
	case err := <-failed:
		return fmt.Errorf("cannot serve the jobs API on %s: %w", a.Addr, err)
	case <-ctx.Done():
	}
	bounded, end := context.WithTimeout(context.WithoutCancel(ctx), leave)
	defer end()
	if err := a.Shutdown(bounded); errors.Is(err, context.DeadlineExceeded) {
		return a.Close()
	}
	return nil
}

// NeedLeaderElection is false: each replica serves.
func (a *api) NeedLeaderElection() bool { return false }
