// Package room is a made-up room: code whose mutants tests notice, or do not.
package room

import "errors"

// Shelf holds the names of goods.
type Shelf struct {
	names []string
}

// errUnnamed reports a good without a name.
var errUnnamed = errors.New("name the good")

// check refuses goods without a name.
func check(name string) error {
	if name == "" {
		return errUnnamed
	}
	return nil
}

// Put adds a good that is not there yet, while there is room for it.
func (s *Shelf) Put(name string, room int) error {
	if err := check(name); err != nil {
		return err
	}
	if len(s.names) < room && !s.has(name) {
		s.add(name)
	}
	return nil
}

// add adds a good.
func (s *Shelf) add(name string) { s.names = append(s.names, name) }

// has reports whether a good is there.
func (s *Shelf) has(name string) bool {
	for i := 0; i < len(s.names); i++ {
		if s.names[i] == name {
			return true
		}
	}
	return false
}
