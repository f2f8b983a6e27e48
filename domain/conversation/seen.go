package conversation

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Seen is what a unit was told of a bag: its version, and of each value so much
// of a hash that a difference can be told without keeping values.
type Seen struct {
	Version string            `json:"version,omitempty"`
	Values  map[string]uint64 `json:"values,omitempty"`
}

// see returns what there is to remember of a bag.
func see(ref databag.Ref, bags Bags) Seen {
	seen, bag := Seen{Version: ref.OrEmpty().Version}, bags.Bag(ref)
	if len(bag) == 0 {
		return seen
	}
	seen.Values = make(map[string]uint64, len(bag))
	for k, v := range bag {
		seen.Values[strings.Clone(k)] = digest(v) // k may be a part of the whole bag's text
	}
	return seen
}

// differs reports whether a bag has another content than the one seen. An empty
// one is nothing new to who has seen none.
func (s Seen) differs(ref databag.Ref) bool {
	return s.Version != ref.OrEmpty().Version && (s.Version != "" || !ref.Empty())
}

// difference returns what is new in a bag to who has seen s (RELATIONS.md E10).
func (s Seen) difference(ref databag.Ref, bags Bags) Difference {
	d, bag := Difference{Before: s.Version, After: ref.OrEmpty().Version}, bags.Bag(ref)
	for k, v := range bag {
		switch was, known := s.Values[k]; {
		case !known:
			d.Added = append(d.Added, k)
		case was != digest(v):
			d.Changed = append(d.Changed, k)
		}
	}
	for k := range s.Values {
		if _, still := bag[k]; !still {
			d.Removed = append(d.Removed, k)
		}
	}
	slices.Sort(d.Added)
	slices.Sort(d.Changed)
	slices.Sort(d.Removed)
	return d
}

// digest is cut short: who makes two values alike hides a key's name in a
// difference, never the change.
func digest(value string) uint64 {
	sum := sha256.Sum256([]byte(value))
	return binary.BigEndian.Uint64(sum[:8])
}
