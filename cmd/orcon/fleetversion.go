package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// fleetVersion is a version of the data, with the members that the command selects of it.
type fleetVersion struct {
	// source names the data for a user.
	source  string
	data    data.Data
	chart   *render.Prepared
	members []fleetMember
	// idle are the members for which nothing is rendered.
	idle []integrationset.Key
	// faults lists the errors of the data, and of members that cannot be rendered. What they concern is left out.
	faults []string
	// notes lists what is declared and has no effect, or another one than it seems.
	notes []data.Problem
}

// fleetMember is a member with all that its objects depend on besides the chart.
type fleetMember struct {
	fleet.Member

	options content.Options
}

// version returns the version of the data that files declare.
func (o *fleetOptions) version(chart *render.Prepared, source string, files bundle.Tree) (fleetVersion, error) {
	schema, err := fleet.ParseSchema(chart.Schema())
	if err != nil {
		return fleetVersion{}, fmt.Errorf("cannot use the chart: %w", err)
	}
	contents, err := data.Files(files.Contents())
	if err != nil {
		return fleetVersion{}, fmt.Errorf("cannot use %s: %w", source, err)
	}
	v := fleetVersion{source: source, chart: chart, data: data.Read(contents, data.Options{SpecFields: schema.SpecFields()})}
	selected, err := fleet.Select(v.data, o.filter)
	if err != nil {
		return v, fmt.Errorf("cannot use %s: %w", source, err)
	}
	for _, p := range selected.Problems(v.data) {
		v.faults = append(v.faults, p.String())
	}
	if err := o.set.check(); err != nil {
		return v, err
	}
	v.notes = fleet.Findings(selected.Members)
	for _, m := range selected.Members {
		v.notes = append(v.notes, m.Warnings...)
		o.add(&v, m, schema)
	}
	return v, nil
}

// check returns an error if the values of the set cannot be passed on to the chart.
func (o *setOptions) check() error {
	values, err := (fleet.Member{}).Values(o.globals)
	if err == nil {
		_, err = values.YAML()
	}
	if err != nil {
		return fmt.Errorf("cannot use the values of the set: %w", err)
	}
	return nil
}

// add adds a member, or what keeps it from being passed on to the chart as a fault.
func (o *fleetOptions) add(v *fleetVersion, m fleet.Member, schema fleet.Schema) {
	one := fleetMember{Member: m}
	if m.Idle() || m.Integration == "" && o.set.globals[fleet.ExcludeService] == true {
		v.idle = append(v.idle, keyOf(m))
		return
	}
	given := fleet.Parameters{Set: o.set.parameters, Flags: o.Parameters}
	ref, wrong := m.ImageRef(o.set.images, given)
	if wrong = append(wrong, schema.Check(m)...); len(wrong) > 0 {
		for _, p := range wrong {
			v.faults = append(v.faults, p.String())
		}
		return
	}
	var err error
	given.Tag = o.tag(ref)
	if one.options, err = o.options(m, given); err != nil {
		v.failed(fmt.Errorf("cannot render %s: %w", one, err))
		return
	}
	v.members = append(v.members, one)
}

// tag returns the tag of an image by the commit that the set has found for its ref. No other commit is looked up.
func (o *fleetOptions) tag(ref fleet.ImageRef) string {
	if commit := o.set.commits[ref.String()]; commit != "" || ref.Ref == "" {
		return o.set.images.Tag(commit)
	}
	return "<" + ref.Ref + ">"
}

// options returns what a member is rendered with, and the parameters that are given beside the data.
func (o *fleetOptions) options(m fleet.Member, given fleet.Parameters) (content.Options, error) {
	options := o.Options
	values, err := m.Values(o.set.globals)
	if err != nil {
		return options, err
	}
	text, err := values.YAML()
	if err != nil {
		return options, err
	}
	parameters, err := m.Parameters(given)
	if err != nil {
		return options, err
	}
	options.Name, options.Namespace = integrationset.Name(o.Name, keyOf(m)), m.Namespace.Name
	options.Values = append(slices.Clone(o.Values), content.ValuesFile{Name: m.Location.String(), Text: text})
	options.Parameters, options.IgnoreUnknown, options.Once, options.Empty = map[string]string{}, true, true, m.Integration == ""
	for _, p := range parameters {
		options.Parameters[p.Name] = p.Value
	}
	return options, nil
}

// keyOf identifies a member in all versions of the data.
func keyOf(m fleet.Member) integrationset.Key {
	return integrationset.Key{Integration: m.Integration, Namespace: m.Namespace.Path}
}

// String describes the member by its integration, and where it is declared.
func (m fleetMember) String() string {
	return fmt.Sprintf("%s in namespace %s, environment %s (%s)", cmp.Or(m.Integration, "shared by all"), m.Namespace.Name,
		cmp.Or(m.Namespace.Environment.Name, "none"), m.Location)
}

// equals reports that one chart renders both members to the same objects.
func (m fleetMember) equals(other fleetMember) bool {
	a, b := m.options, other.options
	sameText := func(a, b content.ValuesFile) bool { return bytes.Equal(a.Text, b.Text) }
	return a.Name == b.Name && a.Namespace == b.Namespace && maps.Equal(a.Parameters, b.Parameters) &&
		slices.EqualFunc(a.Values, b.Values, sameText)
}

// render returns the objects of a member; none for a version without a chart, which is that of a cluster.
func (v *fleetVersion) render(ctx context.Context, m fleetMember) ([]bundle.Object, error) {
	if v.chart == nil {
		return nil, nil
	}
	rendered, err := v.chart.Render(ctx, m.options)
	if err != nil {
		return nil, fmt.Errorf("cannot render %s: %w", m, err)
	}
	return rendered.Objects, nil
}

// lacks reports that a member of another version is surely not declared.
func (v *fleetVersion) lacks(m fleetMember) bool {
	file := m.Location.File
	if m.Integration == "" {
		file = "" // any may need what all share
	}
	return v.data.Presence(file, m.Namespace.Path) == data.Absent
}

// failed notes the error of a member that cannot be rendered, and reports whether there is one.
func (v *fleetVersion) failed(err error) bool {
	if err != nil {
		v.faults = append(v.faults, err.Error())
	}
	return err != nil
}

// mostFaults is how many errors are printed: a chart that does not work fails for every member.
const mostFaults = 50

// wrong returns the faults as one error; nil if there are none.
func (v *fleetVersion) wrong() error {
	shown := v.faults
	if more := len(shown) - mostFaults; more > 0 {
		shown = append(slices.Clone(shown[:mostFaults]), fmt.Sprintf("and %d more", more))
	}
	if len(shown) == 0 {
		return nil
	}
	return fmt.Errorf("the data have errors in %s; members that they concern are left out:\n%s", v.source, strings.Join(shown, "\n"))
}

// environments returns the names of the environments that integrations run in.
func (v *fleetVersion) environments() []string {
	all := map[string]bool{}
	for _, i := range v.data.Integrations {
		for _, e := range i.Entries {
			all[e.Namespace.Environment.Name] = true
		}
	}
	delete(all, "")
	return slices.Sorted(maps.Keys(all))
}
