package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
)

// uninstallOptions are the flags of uninstall.
type uninstallOptions struct {
	deploymentOptions

	yes bool
}

func newUninstall() *cobra.Command {
	var o uninstallOptions
	c := &cobra.Command{
		Use:   "uninstall NAME",
		Short: "Delete all that a deployment made, in reverse order",
		Long: `uninstall deletes what install made, last things first, waits until it is gone, and then
forgets the deployment. Objects that say orcon.tengu.io/prune: Never stay. Finalizers are
waited for, and never taken away.` + exitCodes,
		Example: `  orcon uninstall shop -n shop
  orcon uninstall shop --yes --confirm PersistentVolumeClaim/data`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return c
}

func (o *uninstallOptions) run(c *cobra.Command, name string) error {
	ctx, stop := interruptible(c)
	defer stop()
	d, err := o.change(c, name)
	if err != nil {
		return err
	}
	p, err := d.Plan(ctx, engine.Wish{Uninstall: true})
	if err := errors.Join(err, d.installed("uninstall")); err != nil {
		return coded(err)
	}
	if err := printPlan(c.OutOrStdout(), p); err != nil {
		return err
	}
	if err := d.Unused(ctx, p); err != nil {
		return coded(err)
	}
	approval, err := o.approve(p)
	if err != nil {
		return coded(err)
	}
	if !o.yes {
		if err := ask(c, "Delete this?"); err != nil {
			return err
		}
	}
	err = d.Uninstall(ctx, p, approval)
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted: what is deleted stays so, and the same orcon uninstall goes on from there")
	case err != nil:
		return coded(err)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s is gone\n", d.Owner)
	return err
}
