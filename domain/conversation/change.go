package conversation

import (
	"maps"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Change is the effect of one commit on one bag, by whole keys, with the versions of the bag before and after.
type Change struct {
	Address

	// Added and Removed are keys with the value they got or had.
	Added   Bag
	Changed map[string]Pair
	Removed Bag
	Before  string
	After   string
}

// Pair is a value before and after.
type Pair struct {
	From string
	To   string
}

// Compare returns what makes one content of a bag of another.
func Compare(at Address, before, after Bag) Change {
	c := Change{Address: at, Before: databag.Version(before), After: databag.Version(after)}
	for k, to := range after {
		switch from, had := before[k]; {
		case !had:
			put(&c.Added, k, to)
		case from != to:
			put(&c.Changed, k, Pair{from, to})
		}
	}
	for k, from := range before {
		if _, still := after[k]; !still {
			put(&c.Removed, k, from)
		}
	}
	return c
}

func put[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}

// Set returns the new values of the keys that are changed; a key that goes has an empty one.
func (c Change) Set() map[string]string {
	set := map[string]string{}
	maps.Copy(set, c.Added)
	for key, pair := range c.Changed {
		set[key] = pair.To
	}
	for key := range c.Removed {
		set[key] = ""
	}
	return set
}

// Seen returns the versions of the values that those keys had before (databag.ValueVersion).
func (c Change) Seen() map[string]string {
	seen := map[string]string{}
	for key := range c.Added {
		seen[key] = databag.ValueVersion("")
	}
	for key, pair := range c.Changed {
		seen[key] = databag.ValueVersion(pair.From)
	}
	for key, value := range c.Removed {
		seen[key] = databag.ValueVersion(value)
	}
	return seen
}

// Apply returns the bag as it is after the change; other keys stay as they are.
func (c Change) Apply(bag Bag) Bag {
	bag = copied(bag)
	maps.Copy(bag, c.Added)
	for k, pair := range c.Changed {
		bag[k] = pair.To
	}
	for k := range c.Removed {
		delete(bag, k)
	}
	return bag
}
