package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func newHistory() *cobra.Command {
	var o deploymentOptions
	var format output
	c := &cobra.Command{
		Use: "history NAME", Short: "List the revisions of a deployment",
		Long: `history lists the revisions of a deployment, the newest last: how each ended, and the digest of
its objects. A revision with the content of another one is a rollback to it.

It needs get on Secret orcon-bundle-NAME of the namespace, and no other permission.`,
		Example: `  orcon history shop -n shop
  orcon history shop -o json | jq '.[-1].state'`,
		Args: arguments, ValidArgsFunction: o.completeInstalled(),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := o.connect(c, args[0])
			if err != nil {
				return err
			}
			if err := d.installed(c.Context(), "list"); err != nil {
				return err
			}
			return printHistory(screenOf(c), format, d.Record())
		},
	}
	o.clusterOptions.flags(c)
	format.flag(c, asTable, asJSON, asYAML)
	return c
}

// pastRevision is the output of history for one revision.
type pastRevision struct {
	Revision int          `json:"revision"`
	State    bundle.State `json:"state"`
	Content  int          `json:"content"`
	Digest   string       `json:"digest"`
	Healthy  bool         `json:"healthy"`
	Message  string       `json:"message,omitempty"`
}

func printHistory(s screen, format output, record bundle.Record) error {
	all := []pastRevision{}
	for _, v := range record.Revisions {
		all = append(all, pastRevision{v.Number, v.State, record.Twin(v), v.ManifestDigest, v.Healthy, v.Message})
	}
	return format.print(s, all, func() error {
		t := s.table("REVISION", "STATE", "CONTENT", "DIGEST", "MESSAGE")
		t.below = true
		for _, v := range all {
			state := cell{text: string(v.State)}
			switch v.State {
			case bundle.StateSucceeded:
				state.style = good
			case bundle.StateFailed:
				state.style = bad
			default:
			}
			t.row(v.Revision, state, v.Content, fmt.Sprintf("%.12s", v.Digest), v.Message)
		}
		return t.print()
	})
}

func newRollback() *cobra.Command {
	var o deploymentOptions
	var yes bool
	c := &cobra.Command{
		Use:   "rollback NAME [REVISION]",
		Short: "Bring back the content of an earlier revision",
		Long: `rollback installs the content of an earlier revision again, as a new revision; without REVISION
that of the last healthy revision with another content. CustomResourceDefinitions stay as they
are, and Jobs do not run again.` + exitCodes,
		Example: `  orcon rollback shop -n shop
  orcon rollback shop 3 --yes`,
		Args: arguments, ValidArgsFunction: o.completeInstalled(),
		RunE: func(c *cobra.Command, args []string) error {
			revision := 0
			if len(args) > 1 {
				var err error
				if revision, err = strconv.Atoi(args[1]); err != nil || revision < 1 {
					return errors.New("cannot roll back: REVISION is not a number: orcon history lists the revisions")
				}
			}
			return o.rollback(c, args[0], revision, yes)
		},
	}
	o.flags(c)
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	return c
}

func (o *deploymentOptions) rollback(c *cobra.Command, name string, revision int, yes bool) error {
	ctx := c.Context()
	d, err := o.change(c, name)
	if err != nil {
		return err
	}
	if err := d.installed(c.Context(), "roll back"); err != nil {
		return err
	}
	wish, err := d.Rollback(ctx, revision)
	switch {
	case errors.Is(err, bundle.ErrQuarantined):
		return fmt.Errorf("%w: choose another one of orcon history %[2]s -n %[3]s, or retry this one from its source: orcon install "+
			"SOURCE --name %[2]s -n %[3]s --retry", err, name, d.namespace)
	case err != nil:
		return fmt.Errorf("%w: orcon history %s -n %s", err, name, d.namespace)
	}
	p, err := d.Plan(ctx, wish)
	if err != nil {
		return coded(err)
	}
	if err := printPlan(screenOf(c), p, o.confirm); err != nil {
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
	return d.end(c.OutOrStdout(), d.Install(ctx, p, wish, approval))
}
