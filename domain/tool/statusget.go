package tool

import "slices"

// statusGet tells how the unit or its application is.
type statusGet struct {
	application, data bool
	flags             *flags
}

func (t *statusGet) declare(f *flags) {
	f.prints(smart)
	f.BoolVar(&t.application, "application", false, "the application with all its units")
	f.BoolVar(&t.data, "include-data", false, "also print the message and other data")
	t.flags = f
}

func (t *statusGet) take(args []string) error { return tooMany("status-get", args) }

// run prints the bare word where nothing else was asked for.
func (t *statusGet) run(s session) (any, error) {
	report, err := s.Status.Status(t.application)
	switch {
	case err != nil:
		return nil, err
	case !t.data && t.flags.format == smart:
		return string(report.State), nil
	case !t.application:
		return t.details(report), nil
	}
	units := slices.Clone(report.Units)
	slices.SortFunc(units, func(a, b UnitReport) int { return a.Unit.Compare(b.Unit) })
	byUnit := make(fields, 0, len(units))
	for _, u := range units {
		byUnit = append(byUnit, field{key: u.Unit.String(), value: t.details(u.Report)})
	}
	whole := append(t.details(report), field{key: "units", value: byUnit})
	return fields{{key: "application-status", value: whole}}, nil
}

func (t *statusGet) details(r Report) fields {
	state := field{key: "status", value: string(r.State)}
	if !t.data {
		return fields{state}
	}
	return fields{{key: "message", value: r.Message}, state, {key: "status-data", value: fieldsOf(r.Data)}}
}
