package tool

// relationGet reads a bag, or one key of it.
type relationGet struct {
	relation string
	app      bool
	// key is empty for all; of is the unit or application, as it was written.
	key, of string
}

func (t *relationGet) declare(f *flags) {
	f.prints(smart)
	f.relation(&t.relation, "the `relation`, as 7 or db:7")
	f.BoolVar(&t.app, "app", false, "the application's bag instead of a unit's")
}

func (t *relationGet) take(args []string) error {
	if len(args) > 0 {
		t.key, args = args[0], args[1:]
	}
	if t.key == "-" {
		t.key = ""
	}
	if len(args) > 0 {
		t.of, args = args[0], args[1:]
	}
	return tooMany("relation-get", args)
}

// run prints nothing for a missing key: it may still come, so this is not an error.
func (t *relationGet) run(s session) (any, error) {
	r, err := s.relation(t.relation)
	if err != nil {
		return nil, err
	}
	at, err := s.bag(r, t.of, t.app)
	if err != nil {
		return nil, err
	}
	bag, err := s.Relations.Read(at)
	if err != nil {
		return nil, err
	}
	if t.key == "" {
		return fieldsOf(bag), nil
	}
	value, found := bag[t.key]
	if !found {
		return nil, nil
	}
	return value, nil
}
