package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// uninstallOptions are the flags of uninstall.
type uninstallOptions struct {
	deploymentOptions

	yes  bool
	skip []string
}

func newUninstall() *cobra.Command {
	var o uninstallOptions
	c := &cobra.Command{
		Use:   "uninstall NAME",
		Short: "Delete every object of a deployment, in reverse order",
		Long: `uninstall deletes the objects that install made, in reverse order, waits until they are gone, and
then deletes the record of the deployment. Objects with annotation orcon.tengu.io/prune: Never
stay, as Orcon's own definitions do: see orcon leave. Objects that existed before and were adopted
are given back: they stay, and fields that the bundle set get their values from before back.
Jobs with annotation orcon.tengu.io/run-policy: OnUninstall, as the hooks pre-delete of charts are, run
before anything is deleted. One that fails keeps everything: delete it to have it run again, or leave
it out with --skip-hook. Finalizers are waited for, and never removed. What others still need is refused: a definition
while there are objects of its kind, and the bundle controller while there are BundleDeployments.

Exit codes: 0 done, 2 failed, 3 timed out, 4 other objects need what would be deleted, 130
interrupted.`,
		Example: `  orcon uninstall shop -n shop
  orcon uninstall shop --yes --confirm PersistentVolumeClaim/data`,
		Args: arguments, ValidArgsFunction: o.completeInstalled(),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	c.Flags().StringArrayVar(&o.skip, "skip-hook", nil, "KIND/NAME of a Job that is not run before the deletion; may be repeated")
	return c
}

func (o *uninstallOptions) run(c *cobra.Command, name string) error {
	ctx := c.Context()
	d, err := o.change(c, name)
	if err != nil {
		return err
	}
	if d.SkipJobs, err = bundle.ParseTargets("--skip-hook", o.skip); err != nil {
		return err
	}
	p, err := d.Plan(ctx, engine.Wish{Uninstall: true})
	if err := errors.Join(err, d.installed(c.Context(), "uninstall")); err != nil {
		return coded(err)
	}
	if err := printPlan(screenOf(c), p, o.confirm); err != nil {
		return err
	}
	d.busy(screenOf(c))
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
	d.progress.end()
	switch {
	case errors.Is(err, context.Canceled):
		return interrupted("what is deleted stays deleted; to continue, run the same command again")
	case err != nil:
		return coded(d.moved(err))
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s is uninstalled\n", d.Owner)
	return err
}
