package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
		Short: "Delete every object of a deployment, in reverse order",
		Long: `uninstall deletes the objects that install made, in reverse order, waits until they are gone, and
then deletes the record of the deployment. Objects with annotation orcon.tengu.io/prune: Never
stay. Finalizers are waited for, and never removed. What others still need is refused: a definition
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
	return c
}

func (o *uninstallOptions) run(c *cobra.Command, name string) error {
	ctx := c.Context()
	d, err := o.change(c, name)
	if err != nil {
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
		return coded(ownKinds(err))
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

// ownKinds adds to the error of an uninstallation of Orcon itself what must come before: Orcon
// makes again what is deleted while its namespace is opted in.
func ownKinds(err error) error {
	if !strings.Contains(err.Error(), ".orcon.tengu.io") {
		return err
	}
	return fmt.Errorf("before you delete objects of Orcon, end its relations as docs/how-to/leave.md describes: first take the label "+
		"from each namespace, since else Orcon makes them again: kubectl label namespace -l tengu-injector=enabled tengu-injector-\n%w", err)
}
