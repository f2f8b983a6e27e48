package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// fleetRenderOptions are the flags of fleet render.
type fleetRenderOptions struct {
	fleetOptions

	output output
}

func newFleetRender() *cobra.Command {
	var o fleetRenderOptions
	c := &cobra.Command{
		Use:   "render CHART",
		Short: "Print the objects of the integrations that data files declare",
		Long: `fleet render prints the objects of each integration in each namespace. CHART is a source as of orcon
render; builtin:fleet-chart is a chart for data of Qontract. Above the objects of a member a comment
names its file and line.

Errors of the data go to standard error, with file and line; members that they do not concern are
printed.

Exit codes: 0 printed, 2 the data have errors, or the command failed.`,
		Example: `  orcon fleet render chart/ --data data/ --environment stage
  orcon fleet render chart/ --data data/ --integration github-repos --parameter IMAGE_TAG=v2
  orcon fleet render builtin:fleet-chart --data data/ --set selectors=PerShard
  orcon fleet render chart/ --data data/ -o json | jq .kind`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	o.output.flag(c, asYAML, asJSON)
	return c
}

func (o *fleetRenderOptions) run(c *cobra.Command, source string) error {
	chart, err := o.chart(c, source)
	if err != nil {
		return err
	}
	files, err := o.fetchData(c, o.data)
	if err != nil {
		return err
	}
	v, err := o.version(chart, o.data, files)
	if err != nil {
		return err
	}
	screen := screenOf(c)
	o.noteEnvironments(screen, v)
	found, err := o.printAll(c, &v)
	if err != nil {
		return err
	}
	for _, note := range slices.Concat(v.notes, found.problems()) {
		screen.note("note: " + note.String())
	}
	return v.wrong()
}

// printAll renders and prints all members, and returns their findings.
func (o *fleetRenderOptions) printAll(c *cobra.Command, v *fleetVersion) (inspection, error) {
	var found inspection
	for _, m := range v.members {
		objects, err := v.render(c.Context(), m)
		if v.failed(err) {
			continue
		}
		found.add(inspect(m, objects))
		if err := o.print(c, m, objects); err != nil {
			return found, err
		}
	}
	return found, nil
}

// print prints the objects of a member.
func (o *fleetRenderOptions) print(c *cobra.Command, m fleetMember, objects []bundle.Object) error {
	write := writeJSON
	if o.output.format == asYAML {
		fmt.Fprintf(c.OutOrStdout(), "# %s\n", m)
		write = writeYAML
	}
	for _, object := range objects {
		if err := write(c.OutOrStdout(), object); err != nil {
			return err
		}
	}
	return nil
}
