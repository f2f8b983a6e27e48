package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// goOn finishes what an earlier install, upgrade or rollback of a deployment began: what it
// planned is stored, and was approved then.
func (o *installOptions) goOn(c *cobra.Command) error {
	ctx := c.Context()
	d, err := o.change(c, o.resume)
	if err != nil {
		return err
	}
	if err := d.installed(c.Context(), "resume"); err != nil {
		return err
	}
	if len(d.Record().Removing) > 0 {
		return fmt.Errorf("cannot resume %s: its uninstallation was interrupted, or is under way in another process: to continue it: "+
			"orcon uninstall %s -n %s", d.Owner, o.resume, d.namespace)
	}
	switch interrupted, err := d.Interrupted(ctx); {
	case err != nil:
		return err
	case !interrupted:
		return fmt.Errorf("cannot resume %s: nothing was interrupted: see orcon history %s -n %s", d.Owner, o.resume, d.namespace)
	}
	return d.end(c.OutOrStdout(), d.Resume(ctx))
}
