package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// fleetExplainOptions are the flags of fleet explain.
type fleetExplainOptions struct {
	cluster clusterOptions
	data    fleetOptions

	key, chart string
	all        bool
	output     output
}

func newFleetExplain() *cobra.Command {
	var o fleetExplainOptions
	c := &cobra.Command{
		Use:   "explain INTEGRATION",
		Short: "Show where an integration is declared, its shards, and what it waits for",
		Long: `fleet explain shows an integration in each namespace that it runs in: the file and line that declare it, and
its shards with their keys and arguments. --key names the shard that works on a key, such as the name of an
account: an integration with static shards takes the MD5 of the key modulo the number of shards.

It reads from the cluster the members that sets made, their states, and what they wait for. With
--data it reads data files instead, and shows environments, clusters and fields without effect.

Exit codes: 0 shown, 1 a member waits or failed, 2 the data have errors, or the command failed.`,
		Example: `  orcon fleet explain github-repos -n fleet
  orcon fleet explain dns-zones --key example.org --data data/
  orcon fleet explain dns-zones -A -o json | jq -r '.[].waits[]?'`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.cluster.flags(c)
	c.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "sets of every namespace")
	c.Flags().StringVar(&o.key, "key", "", "key whose shard is named")
	c.Flags().StringVar(&o.data.data, "data", "", "source of data files that are read instead of the cluster")
	c.Flags().StringVar(&o.chart, "chart", "", "with --data, source of the chart whose schema adds fields")
	c.Flags().StringArrayVar(&o.data.filter.Environments, "environment", nil,
		"with --data, name of an environment; may be repeated (default: all)")
	c.Flags().BoolVar(&o.data.Track, "track", false, "follow a tag, a branch or an address that is not pinned")
	c.Flags().StringVar(&o.data.credentials, "credentials", "", "YAML file for a private source, as that of orcon render")
	o.output.flag(c, asTable, asJSON, asYAML)
	return c
}

func (o *fleetExplainOptions) run(c *cobra.Command, integration string) error {
	explain := o.fromCluster
	if o.data.data != "" {
		explain = o.fromData
	}
	all, err := explain(c, integration)
	if len(all) == 0 {
		return err
	}
	s := screenOf(c)
	printed := o.output.print(s, all, func() error {
		for _, e := range all {
			if err := e.print(s, o.key); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, printed); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(e explained) bool { return e.State != "" && e.State != stateReady || len(e.Waits) > 0 }) {
		return silentError(exitFailed)
	}
	return nil
}

// fromData explains an integration by data files. The error lists what the data have wrong that may concern it.
func (o *fleetExplainOptions) fromData(c *cobra.Command, integration string) ([]explained, error) {
	options, err := o.specFields(c)
	if err != nil {
		return nil, err
	}
	tree, err := o.data.fetchData(c, o.data.data)
	if err != nil {
		return nil, err
	}
	files, err := data.Files(tree.Contents())
	if err != nil {
		return nil, fmt.Errorf("cannot use %s: %w", o.data.data, err)
	}
	read := data.Read(files, options)
	selected, err := fleet.Select(read, fleet.Filter{Integrations: []string{integration}, Environments: o.data.filter.Environments})
	if err != nil && !errors.Is(err, fleet.ErrClusters) {
		return nil, fmt.Errorf("cannot use %s: %w", o.data.data, err)
	}
	var all []explained
	for _, m := range selected.Members {
		if m.Integration == integration {
			all = append(all, explainMember(m, o.key))
		}
	}
	wrong, names := heldProblems(selected.Held, integration), integrationNames(read)
	switch {
	case len(wrong) > 0:
		return all, fmt.Errorf("the data have errors in %s:\n%s", o.data.data, strings.Join(wrong, "\n"))
	case len(all) > 0:
		return all, nil
	case slices.Contains(names, integration):
		return nil, fmt.Errorf("integration %q runs nowhere in %s, or in no environment that --environment names", integration, o.data.data)
	}
	return nil, noIntegration(integration, o.data.data, names)
}

// specFields returns the fields that the schema of the chart adds.
func (o *fleetExplainOptions) specFields(c *cobra.Command) (data.Options, error) {
	if o.chart == "" {
		return data.Options{}, nil
	}
	tree, err := o.data.fetch(c, o.chart)
	if err != nil {
		return data.Options{}, err
	}
	chart, err := render.Prepare(tree, "", "")
	if err != nil {
		return data.Options{}, err
	}
	schema, err := fleet.ParseSchema(chart.Schema())
	return data.Options{SpecFields: schema.SpecFields()}, err
}

// fromCluster explains an integration by the members that sets made.
func (o *fleetExplainOptions) fromCluster(c *cobra.Command, integration string) ([]explained, error) {
	kinds, namespace, err := o.cluster.open()
	if err != nil {
		return nil, err
	}
	where := "the sets of namespace " + namespace
	if o.all {
		namespace, where = "", "the sets of the cluster"
	}
	sets, err := readSets(c.Context(), kinds, namespace, lookAtControllers(c.Context(), kinds), time.Now())
	if err != nil {
		return nil, err
	}
	var all []explained
	var names []string
	for _, s := range sets {
		all = append(all, explainSet(s, integration, o.key)...)
		for _, m := range s.Members {
			names = append(names, m.Integration)
		}
	}
	if len(all) == 0 {
		return nil, noIntegration(integration, where, names)
	}
	return all, nil
}

// noIntegration returns the error of an integration that is not there.
func noIntegration(name, where string, known []string) error {
	cure := "orcon fleet status -v lists what runs, and --data FOLDER reads data files"
	if near := spelling.Nearest(name, known); near != "" {
		cure = fmt.Sprintf("did you mean %q?", near)
	}
	return fmt.Errorf("no integration of %s is named %q: %s", where, name, cure)
}
