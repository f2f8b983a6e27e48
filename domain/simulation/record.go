package simulation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// errReplay says that a record does not lead to what is stored.
var errReplay = errors.New("the record of the conversation does not replay to its bags")

func sameState(want, got conversation.State) error {
	for _, owner := range slices.Compact(slices.Sorted(keysOf(want, got))) {
		if !maps.Equal(want[owner], got[owner]) {
			return fmt.Errorf("%w: the bag of %s is %v and replays to %v", errReplay, owner, want[owner], got[owner])
		}
	}
	return nil
}

func keysOf(maps ...conversation.State) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, m := range maps {
			for k := range m {
				if !yield(k) {
					return
				}
			}
		}
	}
}

// replays checks the record of each relation against its bags.
func (w *world) replays() error {
	var wrong []error
	for _, r := range values(w.relations) {
		wrong = append(wrong, w.replay(r.UID))
	}
	return errors.Join(wrong...)
}

// expectRecord compares the record of a relation: who, why, whose bag and which
// keys.
func expectRecord(w *world, s step) error {
	r, err := w.relationCalled(s.words["ID"])
	if err != nil {
		return err
	}
	var got []string
	for _, e := range w.histories[r.UID].Entries {
		got = append(got, strings.Join(append([]string{strconv.FormatInt(e.Sequence, 10), e.Who, e.Cause, e.Owner}, changedKeys(
			sortedKeys(e.Added), sortedKeys(e.Changed), sortedKeys(e.Removed))...), " "))
	}
	return s.compare(got)
}
