package conversation

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Seen remembers a bag as it was last shown to a unit: its version, and of each value enough of a hash that a
// difference can be found without the values. For a bag with many or long keys it has the version alone, so that
// memory does not grow with the bags of neighbours (TRUST.md U2): the content is kept elsewhere, and read for the
// next difference.
type Seen struct {
	Version string            `json:"version,omitempty"`
	Values  map[string]uint64 `json:"values,omitempty"`
}

// maxValues is the room for the hashes of a bag's values, and perKey for one without the text of its key, in bytes.
const maxValues, perKey = 4 << 10, 48

// see remembers a bag.
func see(ref databag.Ref, bags Bags) Seen {
	seen, size := Seen{Version: ref.OrEmpty().Version}, 0
	bag := bags.Bag(ref)
	for k := range bag {
		size += len(k) + perKey
	}
	if size <= maxValues {
		seen.Values = digests(bag)
	}
	return seen
}

// content returns the reference to the content that must be kept for a difference, and false if none need be.
func (s Seen) content() (databag.Ref, bool) {
	ref := databag.Ref{Version: s.Version}
	return ref, s.Values == nil && !ref.Empty()
}

// differs reports whether a bag has another content than the one seen. For a unit that has seen none, an empty one
// does not differ.
func (s Seen) differs(ref databag.Ref) bool {
	return s.Version != ref.OrEmpty().Version && (s.Version != "" || !ref.Empty())
}

// difference compares a bag with the one that was seen (RELATIONS.md E10). If the content of that is lost, each key counts
// as changed.
func (s Seen) difference(ref databag.Ref, bags Bags) Difference {
	d, values := Difference{Before: s.Version, After: ref.OrEmpty().Version}, s.Values
	before, kept := s.content()
	if kept {
		values = digests(bags.Bag(before))
	}
	bag := bags.Bag(ref) // last: one bag at a time is in memory
	for k, v := range bag {
		switch was, known := values[k]; {
		case kept && values == nil, known && was != digest(v):
			d.Changed = append(d.Changed, strings.Clone(k)) // k may be a part of the whole bag's text
		case !known:
			d.Added = append(d.Added, strings.Clone(k))
		}
	}
	for k := range values {
		if _, still := bag[k]; !still {
			d.Removed = append(d.Removed, k)
		}
	}
	slices.Sort(d.Added)
	slices.Sort(d.Changed)
	slices.Sort(d.Removed)
	return d
}

// digests returns the digest of each value of a bag; nil if it has none.
func digests(bag Bag) map[string]uint64 {
	if len(bag) == 0 {
		return nil
	}
	all := make(map[string]uint64, len(bag))
	for k, v := range bag {
		all[strings.Clone(k)] = digest(v)
	}
	return all
}

// digest is cut short: two values that are made alike hide a key's name in a difference, never the change.
func digest(value string) uint64 {
	sum := sha256.Sum256([]byte(value))
	return binary.BigEndian.Uint64(sum[:8])
}
