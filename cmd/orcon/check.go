package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube"
)

func newCheck() *cobra.Command {
	var o clusterOptions
	c := &cobra.Command{
		Use:   "check",
		Short: "Tell whether Orcon can serve a cluster, and whether it does",
		Long: `check looks at the cluster's version, and at what is installed of Orcon: its kinds, its
Deployments, and whether the API server trusts its webhooks. What is wrong is told with
what to do about it.

Exit codes: 0 all is well, 1 something is not, 2 it could not be told.`,
		Example: "  orcon check\n  orcon check --context production",
		Args:    arguments,
		RunE:    func(c *cobra.Command, _ []string) error { return o.check(c) },
	}
	o.flags(c)
	return c
}

func (o *clusterOptions) check(c *cobra.Command) error {
	config, _, err := o.load()
	if err != nil {
		return err
	}
	all, err := kube.Check(c.Context(), config)
	if err != nil {
		return err
	}
	wrong := 0
	for _, f := range all {
		if f.Wrong == nil {
			fmt.Fprintf(c.OutOrStdout(), "well   %s\n", f.What)
			continue
		}
		wrong++
		fmt.Fprintf(c.OutOrStdout(), "wrong  %s: %v\n", f.What, f.Wrong)
	}
	if wrong > 0 {
		return failedError{fmt.Errorf("%d of %d things are wrong", wrong, len(all))}
	}
	return nil
}
