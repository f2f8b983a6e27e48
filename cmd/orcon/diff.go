package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	deploymentOptions

	from, to int
}

func newDiff() *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show how the cluster differs from what was installed",
		Long: `diff asks the API server by dry runs what would put the active revision of a deployment right,
and writes nothing: which objects are missing, and of which fields what is there, what the
revision says, and who set it. With --from and --to it compares two revisions that are kept.
What Secrets hold is not shown.

Exit codes: 0 there is no difference, 1 there is one, 2 it could not be told.`,
		Example: `  orcon diff shop -n shop
  orcon diff shop --from 3 --to 5`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.clusterOptions.flags(c)
	c.Flags().IntVar(&o.from, "from", 0, "the earlier of two revisions")
	c.Flags().IntVar(&o.to, "to", 0, "the later of two revisions")
	return c
}

func (o *diffOptions) run(c *cobra.Command, name string) error {
	if (o.from > 0) != (o.to > 0) {
		return errors.New("cannot compare one revision with none: say both --from and --to, as orcon history lists them")
	}
	ctx, stop := interruptible(c)
	defer stop()
	d, err := o.connect(c, name)
	if err != nil {
		return err
	}
	var all []bundle.Difference
	what := fmt.Sprintf("revision %d differs from revision %d", o.to, o.from)
	if o.from > 0 {
		all, err = d.Between(ctx, o.from, o.to)
	} else {
		var standing int
		standing, all, err = d.Drift(ctx)
		what = fmt.Sprintf("the cluster differs from revision %d", standing)
	}
	if err != nil {
		return err
	}
	return printDifferences(c, all, what)
}

// printDifferences prints what differs, and says that something does.
func printDifferences(c *cobra.Command, all []bundle.Difference, what string) error {
	for _, d := range all {
		fmt.Fprintf(c.OutOrStdout(), "%s %s\n", d.ID, d.What)
		for _, change := range d.Changes {
			shown := bundle.PreviewChange{Path: change.Path, Before: change.Before, After: change.After, Manager: change.Manager}
			fmt.Fprintf(c.OutOrStdout(), "  %s: %s\n", change.Path, difference(shown))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return failedError{fmt.Errorf("%s in %d objects", what, len(all))}
}
