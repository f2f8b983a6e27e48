package main

import (
	"errors"
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
	rendered, wrong := o.members(c, chart, o.data)
	if wrong != nil && !errors.Is(wrong, errData) {
		return wrong
	}
	write := writeYAML
	if o.output.format == asJSON {
		write = writeJSON
	}
	for _, m := range rendered.members {
		if o.output.format == asYAML {
			fmt.Fprintf(c.OutOrStdout(), "# %s\n", m)
		}
		for _, object := range m.objects {
			if err := write(c.OutOrStdout(), object); err != nil {
				return err
			}
		}
	}
	return wrong
}
