package tool

import (
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// relationList lists the other units of a relation, or names the application.
type relationList struct {
	relation string
	app      bool
}

func (t *relationList) declare(f *flags) {
	f.prints(smart)
	f.relation(&t.relation, "the `relation`, as 7 or db:7")
	f.BoolVar(&t.app, "app", false, "the other application instead of its units")
}

func (t *relationList) take(args []string) error { return tooMany("relation-list", args) }

func (t *relationList) run(s session) (any, error) {
	r, err := s.relation(t.relation)
	if err != nil {
		return nil, err
	}
	if t.app {
		return r.Remote, nil
	}
	units := slices.Clone(r.Units)
	slices.SortFunc(units, func(a, b conversation.Member) int { return a.Unit.Compare(b.Unit) })
	names := make([]string, len(units))
	for i, m := range units {
		names[i] = m.Unit.String()
	}
	return names, nil
}
