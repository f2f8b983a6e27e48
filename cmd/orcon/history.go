package main

import (
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func newHistory() *cobra.Command {
	var o deploymentOptions
	c := &cobra.Command{
		Use: "history NAME", Short: "List the revisions of a deployment",
		Long: `history lists what was installed, newest last: each revision, how it ended, and the digest
of its objects. A revision with the content of another one is a way back to it.`,
		Example: "  orcon history shop -n shop",
		Args:    arguments,
		RunE: func(c *cobra.Command, args []string) error {
			d, err := o.connect(c, args[0])
			if err != nil {
				return err
			}
			if err := d.installed("list"); err != nil {
				return err
			}
			return printHistory(c, d.Record())
		},
	}
	o.clusterOptions.flags(c)
	return c
}

func printHistory(c *cobra.Command, record bundle.Record) error {
	out := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 3, ' ', 0)
	fmt.Fprintln(out, "REVISION\tSTATE\tCONTENT\tDIGEST\tMESSAGE")
	for _, v := range record.Revisions {
		fmt.Fprintf(out, "%d\t%s\t%d\t%.12s\t%s\n", v.Number, v.State, v.Content, v.ManifestDigest, v.Message)
	}
	return out.Flush()
}

func newRollback() *cobra.Command {
	var o deploymentOptions
	var yes bool
	c := &cobra.Command{
		Use:   "rollback NAME [REVISION]",
		Short: "Bring back the content of an earlier revision",
		Long: `rollback carries out the content of a revision again, as a new one; without REVISION that of
the last healthy one that had another content. Definitions stay as they are, and Jobs do
not run again.` + exitCodes,
		Example: `  orcon rollback shop -n shop
  orcon rollback shop 3 --yes`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error {
			revision := 0
			if len(args) > 1 {
				var err error
				if revision, err = strconv.Atoi(args[1]); err != nil || revision < 1 {
					return errors.New("cannot roll back: REVISION is a number that orcon history lists")
				}
			}
			return o.rollback(c, args[0], revision, yes)
		},
	}
	o.flags(c)
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func (o *deploymentOptions) rollback(c *cobra.Command, name string, revision int, yes bool) error {
	ctx, stop := interruptible(c)
	defer stop()
	d, err := o.change(c, name)
	if err != nil {
		return err
	}
	if err := d.installed("roll back"); err != nil {
		return err
	}
	wish, err := d.Rollback(ctx, revision)
	switch {
	case errors.Is(err, bundle.ErrQuarantined):
		return fmt.Errorf("%w: choose another that orcon history %[2]s lists, or try this one again from its source: orcon install SOURCE --name %[2]s --retry", err, name)
	case err != nil:
		return fmt.Errorf("%w: orcon history %s", err, name)
	}
	p, err := d.Plan(ctx, wish)
	if err != nil {
		return coded(err)
	}
	if err := printPlan(c.OutOrStdout(), p); err != nil {
		return err
	}
	approval, err := o.approve(p)
	if err != nil {
		return coded(err)
	}
	if !yes {
		if err := d.sure(ctx, c, p, wish); err != nil {
			return coded(err)
		}
	}
	return d.end(c, d.Install(ctx, p, wish, approval))
}
