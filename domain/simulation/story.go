package simulation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// story records the events, for people.
type story struct {
	lines []string
	// told is called with each line, if set.
	told func(line string)
}

// remembered is how much of the story a mismatch repeats.
const remembered = 12

func (s *story) tell(at time.Time, format string, args ...any) {
	line := fmt.Sprintf("%8s  %s", at.Sub(epoch()), fmt.Sprintf(format, args...))
	s.lines = append(s.lines, line)
	if s.told != nil {
		s.told(line)
	}
}

// MismatchError is a scenario that did not go as it was expected to.
type MismatchError struct {
	// File and Line are where the step stands.
	File string
	Line int
	Step string
	// Want and Got are the expected and the actual lines.
	Want, Got []string
	// Why says what is wrong where there are no lines to compare.
	Why error
	// Before lists the latest events.
	Before []string
}

// Error tells all of it, over several lines.
func (m *MismatchError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s:%d: %s\n", m.File, m.Line, m.Step)
	if m.Why != nil {
		fmt.Fprintf(&text, "  %s\n", strings.ReplaceAll(m.Why.Error(), "\n", "\n  "))
	} else {
		fmt.Fprintf(&text, "  expected:\n%s  came:\n%s", indented(m.Want), indented(m.Got))
	}
	fmt.Fprintf(&text, "  before:\n%s", indented(m.Before))
	return strings.TrimRight(text.String(), "\n")
}

// Unwrap returns why.
func (m *MismatchError) Unwrap() error { return m.Why }

func indented(lines []string) string {
	if len(lines) == 0 {
		return "    (nothing)\n"
	}
	return "    " + strings.Join(lines, "\n    ") + "\n"
}

// differenceError holds the expected and the actual lines.
type differenceError struct{ want, got []string }

// Error is for who does not look into it.
func (d *differenceError) Error() string { return "something else came than was expected" }

// compare compares what came with the lines of a step. An expected line that ends
// with "…" is the beginning of one; one that begins with it, the end.
func (s step) compare(got []string) error {
	want := s.expected
	if len(want) == 1 && want[0] == "nothing" {
		want = nil
	}
	if slices.EqualFunc(want, got, fits) {
		return nil
	}
	return &differenceError{want, got}
}

func fits(want, got string) bool {
	beginning, cut := strings.CutSuffix(want, "…")
	if end, middle := strings.CutPrefix(beginning, "…"); middle && cut {
		return strings.Contains(got, end)
	} else if middle {
		return strings.HasSuffix(got, end)
	}
	return want == got || cut && strings.HasPrefix(got, beginning)
}

// Run plays a scenario. Each line of the story goes to told, if it is not nil. What
// does not go as expected is a *MismatchError.
func Run(s Scenario, told func(line string)) error {
	w := newWorld(s, told)
	for _, step := range s.steps {
		w.tell(w.now, "— %s", step.text)
		err := step.verb.do(w, step)
		if err == nil {
			err = w.replays()
		}
		if err != nil {
			return w.mismatch(step, err)
		}
	}
	return nil
}

func (w *world) mismatch(s step, err error) *MismatchError {
	m := &MismatchError{File: w.scenario.Name, Line: s.line, Step: s.text, Why: err, Before: slices.Clone(w.lines)}
	if last := len(m.Before) - 1; strings.HasSuffix(m.Before[last], "— "+s.text) {
		m.Before = m.Before[:last]
	}
	m.Before = m.Before[max(0, len(m.Before)-remembered):]
	if d, ok := errors.AsType[*differenceError](err); ok {
		m.Why, m.Want, m.Got = nil, d.want, d.got
	}
	return m
}
