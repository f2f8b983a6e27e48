package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/removal"
)

// releaseOptions are the flags of release.
type releaseOptions struct {
	clusterOptions

	yes bool
}

func newRelease() *cobra.Command {
	var o releaseOptions
	c := &cobra.Command{
		Use:   "release",
		Short: "Let go of deleted objects that wait for a controller that is gone",
		Long: `release takes Orcon's finalizers off objects that are being deleted while their controller does
not run: they would hold their namespace and their definition.

A Relation that a person deleted has ended: its end is written into its RelationSides, and their
handlers handle it once Orcon is back. A Relation that goes with its definition has not ended, and
owes nothing. What a BundleDeployment deployed stays.

Exit codes: 0 done, also if there was nothing to do, 2 failed, 130 interrupted.`,
		Example: "  orcon release",
		Args:    arguments,
		RunE:    func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	clusterFlags(c, &o.kubeconfig, &o.context)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	return c
}

func (o *releaseOptions) run(c *cobra.Command) error {
	ctx, s := c.Context(), screenOf(c)
	cluster, err := removable(o.clusterOptions, s)
	if err != nil {
		return err
	}
	holds := removal.Holds{Cluster: cluster}
	held, err := holds.List(ctx, time.Now())
	if err != nil {
		return err
	}
	if len(held) == 0 {
		s.note("nothing waits for a controller that is gone")
		return nil
	}
	for _, h := range held {
		var lines []string
		for _, side := range h.Owing {
			lines = append(lines, "its end is owed to "+removal.Owing(side))
		}
		if h.Leaves != "" {
			lines = append(lines, h.Leaves)
		}
		fmt.Fprintln(s.out, h.Name)
		for _, line := range lines {
			fmt.Fprintln(s.out, "  "+visible(line))
		}
	}
	if !o.yes {
		if err := ask(c, "Let them go?"); err != nil {
			return err
		}
	}
	return releaseAll(ctx, holds, held)
}

// releaseAll lets each object go. One that cannot be let go does not hold back the rest.
func releaseAll(ctx context.Context, holds removal.Holds, held []removal.Held) error {
	var failed []error
	for _, h := range held {
		failed = append(failed, holds.Release(ctx, h))
	}
	return errors.Join(failed...)
}
