package data

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Data holds the objects that the files of one commit declare.
type Data struct {
	// Integrations by path, held ones included.
	Integrations []Integration
	// Objects that integrations are sharded by.
	Objects map[Strategy]Objects
	// Problems are those of files of no known kind.
	Problems []Problem
	// paths of all files.
	paths map[string]bool
}

// Options change how data are read.
type Options struct {
	// SpecFields are the fields of items that the chart's values.schema.json has. Those
	// that a spec has anyway change nothing.
	SpecFields []string
}

// known lists the fields that a spec may have.
func (o Options) known() []string {
	fields, _ := targets(reflect.ValueOf(&rawSpec{}).Elem())
	all := append(names(fields), o.SpecFields...)
	return slices.DeleteFunc(all, func(name string) bool { return name == "$schema" })
}

// reserved are fields of items in the values that are not of the spec.
//
//nolint:gochecknoglobals // a table
var reserved = []string{"name", "shard_specs"}

// Has reports whether the data have a file.
func (d Data) Has(path string) bool { return d.paths[rooted(path)] }

// Read reads the files of one commit: YAML or JSON by path.
func Read(contents map[string][]byte, options Options) Data {
	options.SpecFields = slices.DeleteFunc(slices.Clone(options.SpecFields), func(name string) bool { return slices.Contains(reserved, name) })
	l := library{map[string]document{}, map[string]parsed{}, new(maxParsed)}
	d := Data{paths: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		path := rooted(name)
		l.documents[path], d.paths[path] = open(path, contents[name]), true
		if p, disguised := l.documents[path].disguised(); disguised {
			d.Problems = append(d.Problems, p)
		}
	}
	d.Objects = map[Strategy]Objects{
		PerAccount: l.objects(accountSchema), PerCluster: l.objects(clusterSchema), PerOrganisation: l.objects(organisationSchema),
	}
	for _, path := range l.paths(integrationSchema) {
		i := l.integration(path, options)
		for n := range i.Entries {
			i.Entries[n].Held = append(i.Entries[n].Held, d.Objects[i.Entries[n].Sharding.Strategy].Held...)
		}
		d.Integrations = append(d.Integrations, i)
	}
	d.Integrations = distinct(d.Integrations)
	return d
}

// distinct holds integrations that share a name.
func distinct(all []Integration) []Integration {
	first := map[string]int{}
	for n, i := range all {
		m, taken := first[i.Name]
		if !taken || i.Name == "" {
			first[i.Name] = n
			continue
		}
		for _, pair := range [][2]int{{n, m}, {m, n}} {
			one, other := &all[pair[0]], all[pair[1]]
			reason := fmt.Sprintf("name %q is also that of %s", one.Name, other.Location.File)
			one.Held = append(one.Held, Problem{one.Location, reason, "rename one"})
		}
	}
	return all
}

// paths lists the files of a schema in order.
func (l library) paths(schema string) []string {
	var all []string
	for path, d := range l.documents {
		if d.schema == schema {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return all
}
