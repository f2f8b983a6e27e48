package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/supervisor"
)

// newJanitor is how the supervisor starts its janitor.
func newJanitor() *cobra.Command {
	return &cobra.Command{
		Use:    supervisor.JanitorCommand + " DIR SUPERVISOR",
		Short:  "End the cluster when its supervisor has died (for internal use)",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			pid, err := strconv.Atoi(args[1])
			if err != nil {
				return fmt.Errorf("cannot read process id %q: %w", args[1], err)
			}
			d, err := state.ParseDir(args[0])
			if err != nil {
				return err
			}
			return supervisor.KeepJanitor(context.WithoutCancel(c.Context()), d, pid, c.InOrStdin())
		},
	}
}
