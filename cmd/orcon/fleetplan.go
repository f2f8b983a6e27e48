package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// asMarkdown is the format for pull requests.
const asMarkdown = "markdown"

// fleetPlanOptions are the flags of fleet plan.
type fleetPlanOptions struct {
	fleetOptions

	base   string
	output output
}

func newFleetPlan() *cobra.Command {
	var o fleetPlanOptions
	c := &cobra.Command{
		Use:   "plan CHART",
		Short: "Show what a change of data files changes",
		Long: `fleet plan renders two versions of the data by the same chart, and prints how they differ: for each
integration and namespace the objects that are new, changed or removed, field by field. Values of
Secrets are hidden. It asks no cluster: what a cluster has, which rights are missing and what admission
says are not part of it.

Exit codes: 0 nothing changes, 1 something does, 2 the data have errors, or the command failed.`,
		Example: `  orcon fleet plan chart/ --data data/ --base /tmp/data-before
  orcon fleet plan chart/ --data data/ --base 'git+https://git.example.org/data.git@main' --track -o markdown`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.Flags().StringVar(&o.base, "base", "", "source of the data before the change")
	o.output.flag(c, asTable, asMarkdown, asJSON, asYAML)
	return c
}

// plannedMember describes the changes of a member, as fleet plan prints them.
type plannedMember struct {
	Environment string            `json:"environment"`
	Namespace   string            `json:"namespace"`
	Integration string            `json:"integration"`
	Declared    string            `json:"declared"`
	Objects     []shownDifference `json:"objects"`

	title string
}

func (o *fleetPlanOptions) run(c *cobra.Command, source string) error {
	if o.base == "" {
		return errors.New("cannot compare: name the data before the change with --base SOURCE")
	}
	chart, err := o.chart(c, source)
	if err != nil {
		return err
	}
	before, wrongBase := o.members(c, chart, o.base)
	after, wrong := o.members(c, chart, o.data)
	for _, err := range []error{wrongBase, wrong} {
		if err != nil && !errors.Is(err, errData) {
			return err
		}
	}
	planned, err := compareMembers(before, after)
	if err != nil {
		return err
	}
	if err := o.print(screenOf(c), planned); err != nil || wrong != nil {
		return errors.Join(wrong, err)
	}
	if len(planned) > 0 {
		return failedError{fmt.Errorf("members that change: %d", len(planned))}
	}
	return nil
}

// compareMembers returns how the members of two versions differ, in the order of namespaces.
// Those of a file with errors are left out.
func compareMembers(before, after renderedFleet) ([]plannedMember, error) {
	was, is := map[integrationset.Key]renderedMember{}, map[integrationset.Key]renderedMember{}
	for _, m := range before.members {
		was[m.key()] = m
	}
	for _, m := range after.members {
		is[m.key()] = m
	}
	all := slices.Clone(after.members)
	for _, m := range before.members {
		if _, stays := is[m.key()]; !stays && after.lacks(m) {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b renderedMember) int { return a.key().Compare(b.key()) })
	planned := []plannedMember{}
	for _, m := range all {
		old, err := bundle.Order(was[m.key()].objects)
		sequence, failed := bundle.Order(is[m.key()].objects)
		if err := errors.Join(err, failed); err != nil {
			return nil, fmt.Errorf("cannot compare %s: %w", m, err)
		}
		if differences := bundle.Compare(old, sequence); len(differences) > 0 {
			planned = append(planned, plannedMember{
				Environment: m.Namespace.Environment.Name, Namespace: m.Namespace.Name, Integration: m.Integration,
				Declared: m.Location.String(), Objects: showDifferences(differences), title: m.String(),
			})
		}
	}
	return planned, nil
}

// print prints what changes.
func (o *fleetPlanOptions) print(s screen, planned []plannedMember) error {
	heading, item, field := "%s\n", "  %s %s\n", "    %s: %s\n"
	if o.output.format == asMarkdown {
		heading, item, field = "### %s\n\n", "- `%s` %s\n", "  - `%s`: `%s`\n"
	}
	people := func() error {
		for _, m := range planned {
			fmt.Fprintf(s.out, heading, m.title)
			for _, object := range m.Objects {
				fmt.Fprintf(s.out, item, object.Object, object.What)
				for _, change := range object.Changes {
					fmt.Fprintf(s.out, field, change.Path, difference(change))
				}
			}
			fmt.Fprintln(s.out)
		}
		return nil
	}
	if o.output.format == asMarkdown {
		return people()
	}
	return o.output.print(s, planned, people)
}
