package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	deploymentOptions

	from, to int
	output   output
}

func newDiff() *cobra.Command {
	var o diffOptions
	c := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show how the cluster differs from what was installed",
		Long: `diff compares the cluster with the active revision of a deployment by dry runs of the API server,
and writes nothing: it lists objects that are missing, objects that are not healthy with the reason,
and fields with their value, the value in the revision, and the program that set it. With --from and
--to it compares two revisions. Values of Secrets are hidden.

Objects are judged as an installation judges them, by spec.healthChecks of a BundleDeployment first:
orcon health explain shows by which rule.

It needs get on the objects, and on the Secrets orcon-bundle-NAME… that hold the record; without
the permission to change an object, it is compared without a dry run. What you may not read is
named, also with -q, and counts as equal.

Exit codes: 0 no difference, 1 there are differences, 2 the comparison failed.`,
		Example: `  orcon diff shop -n shop
  orcon diff shop --from 3 --to 5
  orcon diff shop -o json | jq -r '.[].object.kind'`,
		Args: arguments, ValidArgsFunction: o.completeInstalled(),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.clusterOptions.flags(c)
	o.output.flag(c, asTable, asJSON, asYAML)
	c.Flags().IntVar(&o.from, "from", 0, "number of the earlier revision")
	c.Flags().IntVar(&o.to, "to", 0, "number of the later revision")
	return c
}

func (o *diffOptions) run(c *cobra.Command, name string) error {
	if (o.from > 0) != (o.to > 0) {
		return errors.New("cannot compare: use both --from and --to, with numbers from orcon history")
	}
	ctx := c.Context()
	d, err := o.connect(c, name)
	if err != nil {
		return err
	}
	if err := d.installed(ctx, "compare"); err != nil {
		return err
	}
	d.world.ReadOnly = true
	if err := o.ownChecks(c, d); err != nil {
		return err
	}
	all, what, err := o.compare(ctx, d)
	if err != nil {
		return o.readable(ctx, d, err, o.from, o.to, d.Record().Active())
	}
	s := screenOf(c)
	d.withheld(s)
	return o.print(s, all, what)
}

// ownChecks has objects judged by the health checks of the BundleDeployment, if the deployment is one.
func (o *diffOptions) ownChecks(c *cobra.Command, d *deployed) error {
	kinds, _, err := o.open()
	if err != nil {
		return err
	}
	namespace, name, _ := strings.Cut(d.Owner, "/")
	var own v1alpha1.BundleDeployment
	err = kinds.Get(c.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &own)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil
	case apierrors.IsForbidden(err):
		screenOf(c).lacks("note: objects are judged without spec.healthChecks of the BundleDeployment, which you may not read")
		return nil
	case err != nil:
		return fmt.Errorf("cannot read BundleDeployment %s: %w", d.Owner, err)
	}
	d.world.Probes, err = policy.CompileHealth(convert.ToProbes(&own))
	return err
}

// compare returns how two revisions differ, or the cluster from its revision, and a heading.
func (o *diffOptions) compare(ctx context.Context, d *deployed) (all []bundle.Difference, what string, err error) {
	if o.from > 0 {
		all, err = d.Between(ctx, o.from, o.to)
		return all, fmt.Sprintf("revision %d differs from revision %d", o.to, o.from), err
	}
	standing, all, err := d.Drift(ctx)
	return all, fmt.Sprintf("the cluster differs from revision %d", standing), err
}

// shownDifference is the output of diff for one object.
type shownDifference struct {
	Object  bundle.PreviewObject   `json:"object"`
	What    string                 `json:"what"`
	Changes []bundle.PreviewChange `json:"changes"`
}

// showDifferences returns what is printed of differences.
func showDifferences(all []bundle.Difference) []shownDifference {
	shown := []shownDifference{}
	for _, d := range all {
		one := shownDifference{Object: bundle.PreviewObject(d.ID), What: d.What, Changes: []bundle.PreviewChange{}}
		for _, c := range d.Changes {
			one.Changes = append(one.Changes, bundle.PreviewChange{Path: c.Path, Before: c.Before, After: c.After, Manager: c.Manager})
		}
		shown = append(shown, one)
	}
	return shown
}

// print prints the differences, and returns a failedError if there are any.
func (o *diffOptions) print(s screen, all []bundle.Difference, what string) error {
	shown := showDifferences(all)
	err := o.output.print(s, shown, func() error {
		for _, d := range shown {
			fmt.Fprintf(s.out, "%s %s\n", d.Object, d.What)
			for _, c := range d.Changes {
				fmt.Fprintf(s.out, "  %s: %s\n", c.Path, difference(c))
			}
		}
		return nil
	})
	if err != nil || len(all) == 0 {
		return err
	}
	return failedError{fmt.Errorf("%s in %s", what, objects(len(all)))}
}

// objects writes a number of objects.
func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}
