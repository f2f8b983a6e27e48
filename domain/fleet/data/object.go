package data

import (
	"cmp"
	"fmt"
	"slices"
)

// Object is an object that integrations are sharded by: an AWS account, a cluster or
// an OCM organisation.
type Object struct {
	Location Location
	Name     string
	// OrgID is set for organisations only.
	OrgID string
	// Disable is nil if the file does not have it.
	Disable *Disable
}

// Disable lists what leaves an object alone.
type Disable struct {
	// Integrations by name.
	Integrations []string `yaml:"integrations,omitempty"`
}

// Objects are all objects of one schema, by name.
type Objects struct {
	All []Object
	// Held lists the problems of files that could not be read: All is incomplete.
	Held []Problem
}

// rawObject is the part of an object's file that is read.
type rawObject struct {
	Name    string   `yaml:"name" data:"required"`
	OrgID   string   `yaml:"orgId"`
	Disable *Disable `yaml:"disable"`
}

// readObject reads an account, cluster or organisation.
func readObject(v value) (Object, []Problem) {
	var raw rawObject
	problems := decode(v, &raw, false)
	if v.document.schema == organisationSchema && raw.OrgID == "" {
		problems = append(problems, v.refuse(`field "orgId" is missing`, "add it")...)
	}
	return Object{v.location(), raw.Name, raw.OrgID, raw.Disable}, problems
}

// objects reads all files of a schema. Two objects of one name would be two shards of
// one name.
func (l library) objects(schema string) Objects {
	var o Objects
	for _, path := range l.paths(schema) {
		v, problems := l.root(path)
		if len(problems) == 0 {
			var object Object
			object, problems = readObject(v)
			o.All = append(o.All, object)
		}
		o.Held = append(o.Held, problems...)
	}
	slices.SortStableFunc(o.All, func(a, b Object) int { return cmp.Compare(a.Name, b.Name) })
	for i, object := range o.All {
		if i > 0 && object.Name == o.All[i-1].Name && object.Name != "" {
			reason := fmt.Sprintf("name %q is also that of %s", object.Name, o.All[i-1].Location.File)
			o.Held = append(o.Held, Problem{object.Location, reason, "rename one"})
		}
	}
	return o
}
