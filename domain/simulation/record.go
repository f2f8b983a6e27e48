package simulation

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
)

// errReplay says that a record does not lead to what is stored.
var errReplay = errors.New("the record of the conversation does not replay to its bags")

// replays checks the record of each bag against what is stored, as it is read from
// a file: it must lead to the very same.
func (s *store) replays() error {
	var wrong []error
	for _, b := range values(s.databags) {
		wrong = append(wrong, b.replays())
	}
	return errors.Join(wrong...)
}

func (b bag) replays() error {
	lines, err := history.Encode(b.record.Entries)
	if err != nil {
		return err
	}
	entries, err := history.Parse(lines)
	if err != nil {
		return err
	}
	to, err := history.Log{Commits: b.record.Commits, Entries: entries}.Replay(b.Address())
	if err != nil {
		return err
	}
	if differs := to.Differs(b.Data); len(differs) > 0 {
		return fmt.Errorf("%w: the bag of %s: %s", errReplay, to.Owner, strings.Join(differs, "; "))
	}
	return nil
}

// expectRecord compares what units said in a relation: who, why, whose bag and which
// keys.
func expectRecord(w *world, s step) error {
	r, err := w.relationCalled(s.words["ID"])
	if err != nil {
		return err
	}
	var records []history.Log
	for _, b := range values(w.databags) {
		if b.Relation == r.UID {
			records = append(records, b.record)
		}
	}
	var got []string
	for i, e := range history.Last(history.Merge(records...)) {
		got = append(got, strings.Join(append([]string{strconv.Itoa(i + 1), e.Who, e.Cause, e.Owner}, changedKeys(
			sortedKeys(e.Added), sortedKeys(e.Changed), slices.Clone(e.Removed))...), " "))
	}
	return s.compare(got)
}
