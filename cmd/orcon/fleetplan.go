package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// asMarkdown is the format for pull requests.
const asMarkdown = "markdown"

// fleetPlanOptions are the flags of fleet plan.
type fleetPlanOptions struct {
	fleetOptions

	base, chartBase string
	output          output
}

func newFleetPlan() *cobra.Command {
	var o fleetPlanOptions
	c := &cobra.Command{
		Use:   "plan CHART",
		Short: "Show what a change of data files changes",
		Long: `fleet plan renders two versions of the data, and prints how they differ: for each integration and
namespace the objects that are new, changed or removed, field by field. Values of Secrets are hidden. It
does not read a cluster: what a cluster has, which rights are missing and what admission says are not part of it.

--base names the version before the change: a folder, the address of a source, or a revision of the git
repository that the folder of --data lies in: a branch, a tag, a commit, HEAD~1. The work tree stays as
it is; what is not committed there belongs to the change. A chart in the same repository is read at this
revision too, so that a change of both shows what both bring about together. Every other chart renders
both versions. --chart-base chooses another one.

Notes that the data had before are left out.

Exit codes: 0 nothing changes, 1 something does, 2 the data have errors, or the command failed.`,
		Example: `  orcon fleet plan chart/ --data data/ --base origin/main
  orcon fleet plan chart/ --data data/ --base /tmp/data-before
  orcon fleet plan chart/ --data data/ --base 'git+https://git.example.org/data.git@main' --track -o markdown`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.Flags().StringVar(&o.base, "base", "",
		"data before the change: a revision of the repository of --data, such as origin/main, or a source")
	c.Flags().StringVar(&o.chartBase, "chart-base", "",
		"chart before the change: a revision of its repository, or a source (default: at --base, if it lies in the repository of --data)")
	o.output.flag(c, asTable, asMarkdown, asJSON, asYAML)
	return c
}

// plannedMember describes the changes of a member, as fleet plan prints them.
type plannedMember struct {
	Environment string          `json:"environment"`
	Namespace   string          `json:"namespace"`
	Integration string          `json:"integration"`
	Declared    string          `json:"declared"`
	Objects     []plannedObject `json:"objects"`

	title string
}

// plannedObject describes the change of an object.
type plannedObject struct {
	shownDifference

	// Effect is the effect of a change that is more than an update; "" for others.
	Effect string `json:"effect,omitempty"`
}

// String describes the change in words.
func (o plannedObject) String() string {
	if o.Effect == "" {
		return o.What
	}
	return o.What + ": " + o.Effect
}

// garbage bounds the garbage of a plan, in percent of its live memory: thousands of renderings make much and keep none.
const garbage = 300

func (o *fleetPlanOptions) run(c *cobra.Command, source string) error {
	if o.base == "" {
		return errors.New("cannot compare: name the data before the change with --base, such as --base origin/main")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	chart, err := o.chart(c, source)
	if err != nil {
		return err
	}
	comparison, err := o.comparison(c, source, chart)
	if err != nil {
		return err
	}
	s := screenOf(c)
	o.noteEnvironments(s, comparison.after)
	planned, notes := comparison.plan(c.Context(), s)
	wrong := comparison.after.wrong()
	if err := o.print(s, planned, notes); err != nil || wrong != nil {
		return errors.Join(wrong, err)
	}
	if len(planned) > 0 {
		return failedError{fmt.Errorf("members that change: %d", len(planned))}
	}
	return nil
}

// comparison reads both versions.
func (o *fleetPlanOptions) comparison(c *cobra.Command, source string, chart *content.Prepared) (fleetComparison, error) {
	files, err := o.fetchData(c, o.data)
	if err != nil {
		return fleetComparison{}, err
	}
	base, err := o.before(c, source, chart)
	if err != nil {
		return fleetComparison{}, err
	}
	var before, after fleetVersion
	var wrongBase, wrong error
	var both sync.WaitGroup
	both.Go(func() { before, wrongBase = o.version(base.chart, base.name, base.files) })
	both.Go(func() { after, wrong = o.version(chart, o.data, files) })
	both.Wait()
	return newFleetComparison(before, after), errors.Join(wrongBase, wrong)
}

// print prints what changes, and the notes that are new.
func (o *fleetPlanOptions) print(s screen, planned []plannedMember, notes []data.Problem) error {
	if o.output.format == asMarkdown {
		printMembers(s, planned, "### %s\n\n", "- `%s` %s\n", "  - `%s`: `%s`\n")
		if len(notes) > 0 {
			fmt.Fprint(s.out, "### Notes\n\n")
		}
		for _, note := range notes {
			fmt.Fprintf(s.out, "- %s\n", note)
		}
		return nil
	}
	for _, note := range notes {
		s.note("note: " + note.String())
	}
	return o.output.print(s, planned, func() error {
		printMembers(s, planned, "%s\n", "  %s %s\n", "    %s: %s\n")
		return nil
	})
}

// printMembers prints members in the formats of a heading, an object and a field.
func printMembers(s screen, planned []plannedMember, heading, item, field string) {
	for _, m := range planned {
		fmt.Fprintf(s.out, heading, m.title)
		for _, object := range m.Objects {
			fmt.Fprintf(s.out, item, object.Object, object)
			for _, change := range object.Changes {
				fmt.Fprintf(s.out, field, change.Path, difference(change))
			}
		}
		fmt.Fprintln(s.out)
	}
}
