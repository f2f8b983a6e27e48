package template

import (
	"fmt"
	"maps"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// joining joins a template with its type, and collects what does not fit.
type joining struct {
	t      Type
	l      Design
	faults []error
}

func (j *joining) fault(err error) {
	if err != nil {
		j.faults = append(j.faults, err)
	}
}

// parameters returns the schema of the values that a workspace may give.
func (j *joining) parameters() Signature {
	above := j.t.Parameters
	open := Signature{values: maps.Clone(above.values), required: maps.Clone(above.required), shared: above.shared}
	for _, one := range slices.Sorted(maps.Keys(j.l.Fixed)) {
		j.settle("fixed", one, j.l.Fixed[one])
		delete(open.values, one)
		delete(open.required, one)
		if _, own := j.l.Parameters.values[one]; own {
			j.fault(fmt.Errorf("parameters: type %s has %s too: rename that of the template", j.t.Name, one))
		}
	}
	for _, one := range slices.Sorted(maps.Keys(j.l.Defaults)) {
		j.settle("defaults", one, j.l.Defaults[one])
		value, exposed := open.values[one]
		if _, fixed := j.l.Fixed[one]; fixed {
			j.fault(fmt.Errorf("defaults: %s is fixed too: remove one", one))
		}
		if !exposed {
			continue
		}
		value = maps.Clone(value)
		value[keyDefault] = j.l.Defaults[one]
		open.values[one] = value
		delete(open.required, one)
	}
	return j.schema("parameters", open, j.l.Parameters)
}

// settle notes why a template cannot give the value of a parameter of its type.
func (j *joining) settle(field, one string, value any) {
	above := j.t.Parameters
	_, known := above.values[one]
	switch {
	case !known:
		j.fault(fmt.Errorf("%s: type %s has no parameter %q%s: declare those of the template below parameters",
			field, j.t.Name, one, suggestion(one, above.Names())))
	case above.sensitive(one):
		j.fault(fmt.Errorf("%s: %s is sensitive, and all can read a template: remove it", field, one))
	default:
		if err := above.fits(one, value); err != nil {
			j.fault(fmt.Errorf("%s: %w", field, err))
		}
	}
}

// schema returns the values of two levels, whose names must differ.
func (j *joining) schema(field string, above, own Signature) Signature {
	both := Signature{
		values: join(j, field, above.values, own.values), shared: join(j, field+".$defs", above.shared, own.shared), required: map[string]bool{},
	}
	maps.Copy(both.required, above.required)
	maps.Copy(both.required, own.required)
	return both
}

// join returns the members of two levels, whose names must differ; nil for none.
func join[V any](j *joining, field string, above, own map[string]V) map[string]V {
	if len(above)+len(own) == 0 {
		return nil
	}
	both := map[string]V{}
	maps.Copy(both, above)
	for _, one := range slices.Sorted(maps.Keys(own)) {
		if _, twice := both[one]; twice {
			j.fault(fmt.Errorf("%s: type %s has %s too: rename that of the template", field, j.t.Name, one))
		}
		both[one] = own[one]
	}
	return both
}

// levels are the levels of safety; a later one permits less.
//
//nolint:gochecknoglobals // a table
var levels = []job.Safety{job.ReadOnly, job.Idempotent, job.Exclusive}

// safety returns that of the version. A template may have a stricter one than its type.
func (j *joining) safety() job.Safety {
	above, err := job.ParseSafety(string(j.t.Safety))
	j.fault(err)
	if j.l.Safety == "" {
		return above
	}
	own, err := job.ParseSafety(string(j.l.Safety))
	j.fault(err)
	if err == nil && slices.Index(levels, own) < slices.Index(levels, above) {
		j.fault(fmt.Errorf("safety: %s permits more than %s, which type %s has: remove it", own, above, j.t.Name))
	}
	return own
}

// union returns both lists without what is there twice; nil for none.
func union(above, own []string) []string {
	both := slices.Clone(above)
	for _, one := range own {
		if !slices.Contains(both, one) {
			both = append(both, one)
		}
	}
	return both
}
