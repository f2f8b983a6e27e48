package history

import (
	"fmt"
	"maps"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Replayed is a bag as its log leaves it.
type Replayed struct {
	conversation.Address

	// Commits is how many there were; Since is the first that is replayed, 0 for none.
	Commits int64 `json:"commits"`
	Since   int64 `json:"since"`
	// Whole is set where the bag was empty before that: it then has no other keys than
	// those of Bag. Else keys that no entry names are not known.
	Whole bool `json:"whole"`
	// Bag are the keys that entries name and that are there at the end. A value that
	// the log does not keep is empty.
	Bag conversation.Bag `json:"data"`
	// Version is that of the bag with all its keys and values; empty if nothing is replayed.
	Version string `json:"version"`
}

// Replay returns the bag that the log leads to. It fails on a gap: an entry that
// does not follow the one before it.
func (r Log) Replay(at conversation.Address) (Replayed, error) {
	to := Replayed{Address: at, Commits: r.Commits, Bag: conversation.Bag{}}
	if to.Whole = r.Commits == 0; to.Whole {
		to.Version = databag.Version(nil)
	}
	for i, e := range r.Entries {
		if i == 0 {
			to.Since, to.Whole, to.Version = e.Sequence, e.Before == databag.Version(nil), e.Before
		}
		if to.Version != e.Before {
			return to, fmt.Errorf("cannot replay entry %d of the bag of %s: the bag was at version %.12s, not %.12s",
				e.Sequence, at.Owner, to.Version, e.Before)
		}
		to.Version = e.After
		maps.Copy(to.Bag, e.Added)
		maps.Copy(to.Bag, e.Changed)
		for _, k := range e.Removed {
			delete(to.Bag, k)
		}
	}
	return to, nil
}

// Differs returns how a stored bag differs from the one that the log leads to, by key and never by
// value. A value that the log does not keep shows in the version of the bag only.
func (r Replayed) Differs(stored conversation.Bag) []string {
	var told []string
	for _, k := range slices.Sorted(maps.Keys(r.Bag)) {
		switch is, there := stored[k]; {
		case !there:
			told = append(told, k+": it is not stored")
		case r.Bag[k] != "" && r.Bag[k] != is:
			told = append(told, k+": another value is stored")
		}
	}
	for _, k := range slices.Sorted(maps.Keys(stored)) {
		if _, known := r.Bag[k]; r.Whole && !known {
			told = append(told, k+": it is stored, and no entry says so")
		}
	}
	if version := databag.Version(stored); r.Version != "" && r.Version != version {
		told = append(told, fmt.Sprintf("it is stored at version %.12s, and the record ends at %.12s", version, r.Version))
	}
	return told
}
