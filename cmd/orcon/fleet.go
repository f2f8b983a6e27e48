package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

func newFleet() *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet",
		Short: "Show what data files of a fleet mean, without a cluster",
		Long: `fleet reads the data files of an IntegrationSet: which integrations run in which namespace, and how
the chart renders them.`,
		Example: `  orcon fleet render chart/ --data data/ --environment stage
  orcon fleet plan chart/ --data data/ --base 'git+https://git.example.org/data.git@main' --track`,
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SuggestionsMinimumDistance = 2
	c.AddCommand(newFleetRender(), newFleetPlan(), newFleetApprove(), newFleetRelease(), newFleetSchema())
	return c
}

// fleetOptions are the flags that choose data and what of them is rendered.
type fleetOptions struct {
	sourceOptions

	data   string
	filter fleet.Filter
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

// renderedMember is a member with its objects.
type renderedMember struct {
	fleet.Member

	objects []bundle.Object
}

// String describes the member by its integration, and where it is declared.
func (m renderedMember) String() string {
	return fmt.Sprintf("%s in namespace %s, environment %s (%s)", cmp.Or(m.Integration, "shared by all"), m.Namespace.Name,
		cmp.Or(m.Namespace.Environment.Name, "none"), m.Location)
}

// key tells the members of two versions of the data apart.
func (m renderedMember) key() integrationset.Key {
	return integrationset.Key{Integration: m.Integration, Namespace: m.Namespace.Path}
}

// renderedFleet is a version of the data with its members.
type renderedFleet struct {
	data    data.Data
	members []renderedMember
}

// lacks reports that a member of another version is surely not declared.
func (f renderedFleet) lacks(m renderedMember) bool {
	file := m.Location.File
	if m.Integration == "" {
		file = "" // any may need what all share
	}
	return f.data.Presence(file, m.Namespace.Path) == data.Absent
}

// errData reports that the data have errors, which were written out. Members that they do not concern were rendered.
var errData = errors.New("the data have errors")

// members renders what a source of data declares. The error wraps errData if only the data have errors.
func (o *fleetOptions) members(c *cobra.Command, chart bundle.Tree, source string) (renderedFleet, error) {
	r, err := bundle.ParseReference(source)
	if err != nil {
		return renderedFleet{}, err
	}
	tree, err := o.fetchAny(c, r)
	if err != nil {
		return renderedFleet{}, err
	}
	files, err := data.Files(tree.Contents())
	if err != nil {
		return renderedFleet{}, fmt.Errorf("cannot use %s: %w", source, err)
	}
	read := data.Read(files, data.Options{})
	selected, err := fleet.Select(read, o.filter)
	if err != nil {
		return renderedFleet{}, fmt.Errorf("cannot use %s: %w", source, err)
	}
	all := renderedFleet{data: read}
	for _, m := range selected.Members {
		one := renderedMember{Member: m}
		if one.objects, err = o.objects(c, chart, one); err != nil {
			return renderedFleet{}, fmt.Errorf("cannot render %s: %w", one, err)
		}
		all.members = append(all.members, one)
	}
	return all, o.problems(c, source, read, selected)
}

// objects renders a member.
func (o *fleetOptions) objects(c *cobra.Command, chart bundle.Tree, m renderedMember) ([]bundle.Object, error) {
	values, err := m.Values(nil)
	if err != nil {
		return nil, err
	}
	text, err := values.YAML()
	if err != nil {
		return nil, err
	}
	parameters, err := m.Parameters(fleet.Parameters{Flags: o.Parameters})
	if err != nil {
		return nil, err
	}
	options := o.Options
	options.Name, options.Namespace = integrationset.Name(o.Name, m.key()), m.Namespace.Name
	options.Values = append(slices.Clone(o.Values), content.ValuesFile{Name: m.Location.String(), Text: text})
	options.Parameters, options.IgnoreUnknown = map[string]string{}, true
	for _, p := range parameters {
		options.Parameters[p.Name] = p.Value
	}
	rendered, err := content.Render(c.Context(), chart, options)
	return rendered.Objects, err
}

// problems writes the errors and warnings of the data, and returns errData if there are errors.
func (o *fleetOptions) problems(c *cobra.Command, source string, read data.Data, selected fleet.Selection) error {
	notes := fleet.Findings(selected.Members)
	for _, m := range selected.Members {
		notes = append(notes, m.Warnings...)
	}
	for _, note := range notes {
		fmt.Fprintln(c.ErrOrStderr(), "note:", note)
	}
	if known := environments(read); len(known) > 0 {
		for _, name := range o.filter.Environments {
			if !slices.Contains(known, name) {
				fmt.Fprintf(c.ErrOrStderr(), "note: nothing runs in environment %q: %s\n", name, data.Suggest(name, known))
			}
		}
	}
	var all []string
	for _, p := range selected.Problems(read) {
		all = append(all, p.String())
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("%w in %s; members that they concern are left out:\n%s", errData, source, strings.Join(all, "\n"))
}

// environments returns the names of the environments that integrations run in.
func environments(read data.Data) []string {
	all := map[string]bool{}
	for _, i := range read.Integrations {
		for _, e := range i.Entries {
			all[e.Namespace.Environment.Name] = true
		}
	}
	delete(all, "")
	return slices.Sorted(maps.Keys(all))
}

// chart fetches the chart, and reads the files and parameters of the command line.
func (o *fleetOptions) chart(c *cobra.Command, source string) (bundle.Tree, error) {
	if o.data == "" {
		return bundle.Tree{}, errors.New("cannot tell what runs: name the data files with --data FOLDER")
	}
	if err := o.read(); err != nil {
		return bundle.Tree{}, err
	}
	return o.fetch(c, source)
}
