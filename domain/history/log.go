package history

import (
	"maps"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// The limits of a log (SAFETY.md P2).
const (
	// MaxEntries is how many commits a log keeps, of one bag and of a relation.
	MaxEntries = 256
	// maxLog is how many bytes of JSON the log of one bag has at most.
	maxLog = 128 << 10
	// maxValue is the longest value that a log keeps, in bytes.
	maxValue = 4 << 10
)

// Entry records one commit to one bag.
type Entry struct {
	// Sequence counts the commits to this bag from 1.
	Sequence int64 `json:"sequence"`
	// Time is when it was stored, to the microsecond.
	Time time.Time `json:"time"`
	// Who wrote: a unit, or Controller for what is declared.
	Who string `json:"who"`
	// Cause is the handler that ran, or the tool; Declared for what is declared.
	Cause string `json:"cause"`
	// Transaction is the same in all entries of one transaction of several bags; empty
	// for one of a single bag.
	Transaction string `json:"transaction,omitempty"`
	// Term is that of the leader who wrote an application's bag; else 0.
	Term int `json:"term,omitempty"`

	conversation.Address

	// Added and Changed are keys with the value that they got. An empty value, which no
	// key of a bag has (RELATIONS.md P3), is one that the log does not keep: of a
	// secret field, or of a key in TooLong.
	Added   conversation.Bag `json:"added,omitempty"`
	Changed conversation.Bag `json:"changed,omitempty"`
	// Removed are keys, in order.
	Removed []string `json:"removed,omitempty"`
	// TooLong are the keys whose values are too long to be kept, in order.
	TooLong []string `json:"tooLong,omitempty"`
	// Before and After are the versions of the bag.
	Before string `json:"before"`
	After  string `json:"after"`
}

// Who and why, where no unit wrote.
const (
	Controller = "controller"
	Declared   = "declared"
)

// Log has the last commits of one bag. It is a value: Append changes no other.
type Log struct {
	// Commits is how many there were, those that are not kept any more included.
	Commits int64
	// Entries are the last of them, in order.
	Entries []Entry
}

// Append returns the log with one more entry: who, why and when. It gets the next sequence, the difference between
// the two contents of the bag, and a time that is not before the last. No entry holds values of secret fields, even
// of contents before they were known to be secret. The oldest entries are dropped if there are too many, or too large
// ones: a bag that fills its object has an empty log. A change that changes nothing adds nothing.
func (r Log) Append(e Entry, before, after conversation.Bag, secret []string) Log {
	change := conversation.Compare(e.Address, before, after)
	if change.Before == change.After {
		return r
	}
	r.Commits++
	e.Sequence, e.Before, e.After = r.Commits, change.Before, change.After
	e.Time = e.Time.UTC().Truncate(time.Microsecond)
	if last := len(r.Entries) - 1; last >= 0 && e.Time.Before(r.Entries[last].Time) {
		e.Time = r.Entries[last].Time
	}
	e.Added, e.Removed = change.Added, slices.Sorted(maps.Keys(change.Removed))
	for k, pair := range change.Changed {
		if e.Changed == nil {
			e.Changed = conversation.Bag{}
		}
		e.Changed[k] = pair.To
	}
	r.Entries = append(slices.Clip(r.Entries), e.shortened())
	for i := range r.Entries {
		r.Entries[i] = r.Entries[i].withholding(secret)
	}
	return r.within(min(maxLog, databag.MaxEncoded-databag.Encoded(after)))
}

// shortened returns the entry without the values that are too long, and without any
// where they are too long together.
func (e Entry) shortened() Entry {
	longest := maxValue
	if e.size() > maxLog/2 {
		longest = 0
	}
	e.Added, e.Changed = maps.Clone(e.Added), maps.Clone(e.Changed)
	for _, values := range []conversation.Bag{e.Added, e.Changed} {
		for k, v := range values {
			if len(v) > longest {
				values[k] = ""
				e.TooLong = append(e.TooLong, k)
			}
		}
	}
	slices.Sort(e.TooLong)
	return e
}

// withholding returns the entry without the values of secret fields.
func (e Entry) withholding(secret []string) Entry {
	e.Added, e.Changed = withhold(e.Added, secret), withhold(e.Changed, secret)
	return e
}

// withhold empties the values of secret fields. What has none is returned as it is.
func withhold(values conversation.Bag, secret []string) conversation.Bag {
	for _, k := range secret {
		if values[k] != "" {
			values = maps.Clone(values)
			values[k] = ""
		}
	}
	return values
}

// within drops the oldest entries until the rest has room.
func (r Log) within(room int) Log {
	kept, size := len(r.Entries), 0
	for kept > 0 && len(r.Entries)-kept < MaxEntries {
		if size += r.Entries[kept-1].size(); size > room {
			break
		}
		kept--
	}
	r.Entries = r.Entries[kept:]
	return r
}

// Merge returns the entries of all bags of a relation in order of time, and those of
// one bag in their own order.
func Merge(records ...Log) []Entry {
	var all []Entry
	for _, r := range records {
		all = append(all, r.Entries...)
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return a.Time.Compare(b.Time) })
	return all
}

// Last returns the last MaxEntries of the entries of a relation.
func Last(entries []Entry) []Entry {
	return entries[max(0, len(entries)-MaxEntries):]
}

// frame is how many bytes an entry has besides its texts: names, times, versions.
const frame = 400

// size is how many bytes the entry has as JSON, or somewhat more.
func (e Entry) size() int {
	size := frame + sizeOf(e.Added) + sizeOf(e.Changed)
	for _, text := range slices.Concat([]string{e.Who, e.Cause, e.Transaction, e.Relation, e.Owner}, e.Removed, e.TooLong) {
		size += databag.EncodedText(text)
	}
	return size
}

// sizeOf is how many bytes a bag has as JSON.
func sizeOf(bag conversation.Bag) int {
	size := 0
	for k, v := range bag {
		size += databag.EncodedText(k) + databag.EncodedText(v)
	}
	return size
}
