package tool

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
	return s.members(r), nil
}
