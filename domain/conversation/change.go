package conversation

import (
	"maps"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Change is what one commit does to one bag, by whole keys, and the versions of
// the bag before and after.
type Change struct {
	Address

	// Added and Removed are keys with the value they got or had.
	Added   Bag             `json:"added,omitempty"`
	Changed map[string]Pair `json:"changed,omitempty"`
	Removed Bag             `json:"removed,omitempty"`
	Before  string          `json:"before"`
	After   string          `json:"after"`
}

// Pair is a value before and after.
type Pair struct {
	From string `json:"from"`
	To   string `json:"to"`
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

// Withhold returns the change without the values of secret fields. Their keys
// stay, with an empty value, which no key of a bag has (RELATIONS.md P3).
func (c Change) Withhold(secret func(key string) bool) Change {
	c.Added, c.Changed, c.Removed = withhold(c.Added, secret), withhold(c.Changed, secret), withhold(c.Removed, secret)
	return c
}

func withhold[V any](values map[string]V, secret func(key string) bool) map[string]V {
	values = maps.Clone(values)
	for k := range values {
		if secret(k) {
			var nothing V
			values[k] = nothing
		}
	}
	return values
}
