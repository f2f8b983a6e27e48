package tool

import (
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// statusSet says how the unit or its application is.
type statusSet struct {
	application bool
	state       State
	message     string
}

func (t *statusSet) declare(f *flags) {
	f.BoolVar(&t.application, "application", false, "for the application, by its leader")
}

func (t *statusSet) take(args []string) error {
	if len(args) == 0 {
		return misuse("write one of "+strings.Join(states(), ", "), "invalid args, a status is missing")
	}
	if !slices.Contains(states(), args[0]) {
		cure := "write one of " + strings.Join(states(), ", ")
		if nearest := application.Nearest(args[0], states()); nearest != "" {
			cure = "did you mean " + nearest + "?"
		}
		return misuse(cure, "invalid status %.40q", args[0])
	}
	t.state, args = State(args[0]), args[1:]
	if len(args) > 0 {
		t.message, args = args[0], args[1:]
	}
	return tooMany("status-set", args)
}

func (t *statusSet) run(s session) (any, error) {
	return nil, s.Status.SetStatus(t.application, t.state, t.message)
}
