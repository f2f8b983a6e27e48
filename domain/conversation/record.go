package conversation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// MaxEntries is how many commits the record of a relation keeps (SAFETY.md P2).
const MaxEntries = 256

// Entry is one line of a record: one change of one bag.
type Entry struct {
	// Sequence counts the entries of the relation from 1.
	Sequence int64     `json:"sequence"`
	Time     time.Time `json:"time"`
	// Who wrote: a unit or an application.
	Who string `json:"who"`
	// Cause is the event that was handled, or the tool that was run.
	Cause string `json:"cause"`

	Change
}

// State is the content of all bags of a relation, by owner.
type State map[string]Bag

// Record is what was said in one relation: the last MaxEntries commits, and the
// bags before the first of them. It is only ever added to.
type Record struct {
	// Base is the state before the first entry.
	Base State `json:"base,omitempty"`
	// Last is the sequence of the entry added last.
	Last    int64   `json:"last,omitempty"`
	Entries []Entry `json:"entries,omitempty"`
}

// Append returns the record with one more entry, which gets the next sequence and
// loses the values of secret fields, and without the oldest if that is one too
// many.
func (r Record) Append(e Entry, secret func(key string) bool) Record {
	r.Last++
	e.Sequence, e.Change = r.Last, e.Withhold(secret)
	r.Entries = append(slices.Clip(r.Entries), e)
	if old := len(r.Entries) - MaxEntries; old > 0 {
		r.Base = fold(r.Entries[:old], r.Base)
		r.Entries = r.Entries[old:]
	}
	return r
}

// Replay returns the state after the entries, from the one before them. Values
// that were withheld are empty. It fails on a gap: an entry that does not follow
// the last one about the same bag.
func Replay(entries []Entry, base State) (State, error) {
	versions := map[string]string{}
	for _, e := range entries {
		if last, known := versions[e.Owner]; known && last != e.Before {
			return nil, fmt.Errorf("cannot replay entry %d: the bag of %s was at version %.12s, not %.12s", e.Sequence, e.Owner, last, e.Before)
		}
		versions[e.Owner] = e.After
	}
	return fold(entries, base), nil
}

// fold applies entries to a state, which it leaves as it is. A bag that has
// become empty is none.
func fold(entries []Entry, base State) State {
	state := make(State, len(base))
	maps.Copy(state, base)
	for _, e := range entries {
		if bag := e.Apply(state[e.Owner]); len(bag) > 0 {
			state[e.Owner] = bag
		} else {
			delete(state, e.Owner)
		}
	}
	return state
}

// EncodeEntries writes entries as JSON, one a line.
func EncodeEntries(entries []Entry) ([]byte, error) {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	for _, e := range entries {
		if err := encoder.Encode(e); err != nil {
			return nil, fmt.Errorf("cannot write entry %d of the record: %w", e.Sequence, err)
		}
	}
	return lines.Bytes(), nil
}

// ParseEntries reads what EncodeEntries wrote. Empty lines are left out.
func ParseEntries(lines []byte) ([]Entry, error) {
	var entries []Entry
	number := 0
	for line := range bytes.Lines(lines) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("cannot read line %d of the record: %w", number, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}
