package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

func newFleet() *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet",
		Short: "Show what data files of a fleet mean, and how its members are",
		Long: `fleet render and fleet plan read the data files of an IntegrationSet without a cluster: which integrations
run in which namespace, how the chart renders them, and what a change changes. fleet status and fleet
explain show the sets of a cluster, and fleet plan --live what a change does there.`,
		Example: `  orcon fleet render chart/ --data data/ --environment stage
  orcon fleet plan chart/ --data data/ --base origin/main
  orcon fleet status -A
  orcon fleet explain github-repos -n fleet`,
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SuggestionsMinimumDistance = 2
	c.AddCommand(newFleetRender(), newFleetPlan(), newFleetStatus(), newFleetExplain(), newFleetApprove(), newFleetRelease(), newFleetSchema())
	return c
}

// fleetOptions are the flags that choose data and what of them is rendered.
type fleetOptions struct {
	sourceOptions

	data   string
	filter fleet.Filter
	set    setOptions
}

func (o *fleetOptions) flags(c *cobra.Command) {
	o.sourceOptions.flags(c)
	c.Flags().StringVar(&o.data, "data", "", "source of the data files: a folder, a bundle of Qontract, "+
		"graphql+https://HOST/graphql, or as SOURCE of orcon render")
	c.Flags().StringVar(&o.Name, "name", "fleet", "name of the set, for a chart's templates")
	c.Flags().StringVar(&o.filter.Cluster, "cluster", "", "name of the cluster in the data (default: the only one)")
	c.Flags().StringArrayVar(&o.filter.Environments, "environment", nil, "name of an environment; may be repeated (default: all)")
	c.Flags().StringVar(&o.filter.Upstream, "upstream", "", "upstream of the integrations (default: any)")
	c.Flags().StringArrayVar(&o.filter.Integrations, "integration", nil, "name of an integration; may be repeated (default: all)")
}

// chart fetches the chart, and reads the files and parameters of the command line.
func (o *fleetOptions) chart(c *cobra.Command, source string) (*render.Prepared, error) {
	if o.data == "" {
		return nil, errors.New("cannot tell what runs: name the data files with --data FOLDER")
	}
	if err := o.read(); err != nil {
		return nil, err
	}
	tree, err := o.fetch(c, source)
	if err != nil {
		return nil, err
	}
	return render.Prepare(tree, o.Path, o.Format)
}

// fetchData fetches data, which may come from where no chart can.
func (o *fleetOptions) fetchData(c *cobra.Command, source string) (bundle.Tree, error) {
	r, err := bundle.ParseReference(source)
	if err != nil {
		return bundle.Tree{}, err
	}
	tree, err := o.fetchAny(c, r)
	if err == nil {
		err = tree.Unlinked()
	}
	return tree, err
}

// noteEnvironments notes the names of environments in which nothing runs.
func (o *fleetOptions) noteEnvironments(s screen, v fleetVersion) {
	known := v.environments()
	if len(known) == 0 {
		return
	}
	for _, name := range o.filter.Environments {
		if !slices.Contains(known, name) {
			s.note(fmt.Sprintf("note: nothing runs in environment %q: %s", name, data.Suggest(name, known)))
		}
	}
}
