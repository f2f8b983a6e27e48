package tool

// relationModelGet tells in which model the other side of a relation lives.
type relationModelGet struct{ relation string }

func (t *relationModelGet) declare(f *flags) {
	f.prints(smart)
	f.relation(&t.relation, "the `relation`, as 7 or db:7")
}

func (t *relationModelGet) take(args []string) error { return tooMany("relation-model-get", args) }

func (t *relationModelGet) run(s session) (any, error) {
	r, err := s.relation(t.relation)
	if err != nil {
		return nil, err
	}
	uuid, err := s.Surroundings.Model(r.UID)
	if err != nil {
		return nil, err
	}
	return fields{{key: "uuid", value: uuid}}, nil
}
