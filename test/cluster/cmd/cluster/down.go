package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/teardown"
)

const (
	// orderly is how long a supervisor may take to end its cluster itself.
	orderly  = 30 * time.Second
	downPoll = 10 * time.Millisecond
)

func newDown() *cobra.Command {
	t := &target{}
	c := &cobra.Command{
		Use:   "down",
		Short: "End a cluster and remove all it left, also after a crash",
		Long: `down ends a cluster: its processes, containers, mounts, network, cgroups and
folder. It works on a crashed cluster too. With no such cluster it does nothing.`,
		Example: `  cluster down
  cluster down --name second`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d, err := t.folder()
			if err != nil {
				return err
			}
			r, err := state.Load(d)
			if errors.Is(err, state.ErrNoCluster) {
				fmt.Fprintf(c.ErrOrStderr(), "cluster %s is not up\n", t.name)
				return nil
			}
			if err != nil {
				return err
			}
			return end(context.WithoutCancel(c.Context()), r)
		},
	}
	t.flags(c, defaultName)
	return c
}

// waitDead waits until a supervisor has ended, but not for ever.
func waitDead(supervisor state.Process) {
	tick, late := time.NewTicker(downPoll), time.After(orderly)
	defer tick.Stop()
	for supervisor.Alive() {
		select {
		case <-tick.C:
		case <-late:
			return
		}
	}
}

// end lets the supervisor end its cluster, and does it itself if the
// supervisor is dead or stuck.
func end(ctx context.Context, r state.Record) error {
	if err := r.Supervisor.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	waitDead(r.Supervisor)
	if err := r.Supervisor.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	return teardown.End(ctx, r.Dir)
}
