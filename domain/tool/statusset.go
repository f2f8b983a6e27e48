package tool

import (
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// statusSet says how the unit or its application is, or how the application is in
// one relation.
type statusSet struct {
	application bool
	relation    string
	info        status.Info
}

func (t *statusSet) declare(f *flags) {
	f.BoolVar(&t.application, "application", false, "for the application, by its leader")
	f.relation(&t.relation, "for the application in that `relation`, by its leader")
	f.StringVar(&t.info.Code, "code", "", "with -r: one `word` for programs, such as NoDatabase")
	f.StringVar(&t.info.Resolution, "resolution", "", "with -r: what a person can `do` about it")
}

func (t *statusSet) take(args []string) error {
	if len(args) == 0 {
		return misuse("write one of "+strings.Join(states(), ", "), "invalid args, a status is missing")
	}
	if !slices.Contains(states(), args[0]) {
		cure := "write one of " + strings.Join(states(), ", ")
		if nearest := spelling.Nearest(args[0], states()); nearest != "" {
			cure = "did you mean " + nearest + "?"
		}
		return misuse(cure, "invalid status %.40q", args[0])
	}
	t.info.State, args = status.State(args[0]), args[1:]
	if len(args) > 0 {
		t.info.Message, args = args[0], args[1:]
	}
	if t.relation == "" && t.info.Code+t.info.Resolution != "" {
		return misuse("name the relation with -r", "--code and --resolution need a relation")
	}
	var err error
	if t.info, err = t.info.Check(); err != nil {
		return misuse("", "%v", err)
	}
	return tooMany("status-set", args)
}

func (t *statusSet) run(s session) (any, error) {
	if t.relation == "" {
		return nil, s.Status.SetStatus(t.application, t.info)
	}
	r, err := s.relation(t.relation)
	if err != nil {
		return nil, err
	}
	return nil, s.Status.SetSide(r.UID, t.info)
}

func states() []string {
	var words []string
	for _, state := range status.States() {
		words = append(words, string(state))
	}
	return words
}
