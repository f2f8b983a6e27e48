package main

import (
	"fmt"

	"github.com/spf13/cobra"
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
render. Above the objects of a member a comment names its file and line.

Errors of the data go to standard error, with file and line; members that they do not concern are
printed.

Exit codes: 0 printed, 2 the data have errors, or the command failed.`,
		Example: `  orcon fleet render chart/ --data data/ --environment stage
  orcon fleet render chart/ --data data/ --integration github-repos --parameter IMAGE_TAG=v2
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
	files, err := o.fetch(c, o.data)
	if err != nil {
		return err
	}
	v, err := o.version(chart, o.data, files)
	if err != nil {
		return err
	}
	for _, m := range v.members {
		if err := o.print(c, v, m); err != nil {
			return err
		}
	}
	o.note(screenOf(c), v, v.notes)
	return v.wrong()
}

// print renders and prints a member.
func (o *fleetRenderOptions) print(c *cobra.Command, v fleetVersion, m fleetMember) error {
	objects, err := v.render(c.Context(), m)
	if err != nil {
		return err
	}
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
