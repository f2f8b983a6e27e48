package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/aggregation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/jobs"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
)

// poll is the time between two looks for more of a log that is followed.
const poll = time.Second

// handler returns the handler of the jobs API, which keepers use, and of the people's API.
func (c *controller) handler() http.Handler {
	live, writer := c.manager.GetAPIReader(), c.manager.GetClient()
	workspaces, _ := c.stored()
	keepers := c.keepers(jobs.NewCallers(workspaces.Objects, writer))
	persons := &people.API{
		Workspaces: workspaces,
		Store:      c.blobs,
		Persons:    &aggregation.FrontProxy{Reader: live, Clock: time.Now},
		Rights:     aggregation.Rights{Client: writer},
		Objects:    aggregation.Objects{Reader: live},
		Journal:    aggregation.Journal{Events: c.manager.GetEventRecorder(name)},
		Limits:     keepers.Limits,
		Clock:      time.Now,
		Poll:       poll,
	}
	if c.nodeAddress != "" {
		persons.Tokens = tokens{c.nodes}
	}
	mux := http.NewServeMux()
	mux.Handle(runner.Path, keepers.Handler())
	mux.Handle("/apis/", persons.Handler())
	mux.Handle("/apis", persons.Handler())
	return mux
}

// stored returns the JobWorkspaces and JobRuns of the cluster.
func (c *controller) stored() (jobs.Workspaces, jobs.Runs) {
	objects := jobs.Objects{Cache: c.manager.GetCache(), Live: c.manager.GetAPIReader()}
	return jobs.Workspaces{Objects: objects, Writer: c.manager.GetClient()}, jobs.Runs{Objects: objects, Writer: c.manager.GetClient()}
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
