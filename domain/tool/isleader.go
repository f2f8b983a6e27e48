package tool

// isLeader tells whether the unit leads its application.
type isLeader struct{}

func (t *isLeader) declare(f *flags) { f.prints(smart) }

func (t *isLeader) take(args []string) error { return tooMany("is-leader", args) }

func (t *isLeader) run(s session) (any, error) {
	leads, err := s.Surroundings.Leader()
	if err != nil {
		return nil, err
	}
	return leads, nil
}
