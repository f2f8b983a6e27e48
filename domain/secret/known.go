package secret

import (
	"slices"
	"time"
)

// Known is what one unit is told of a secret that it reads or that its application
// or itself owns.
type Known struct {
	// Unit is its number.
	Unit      string
	ID, Label string
	// Latest is the last revision, Kept the one that a reader keeps to; 0 for owners.
	Latest, Kept int
	// Own says that it owns the secret itself.
	Own bool
	// Rotates and Expires are what its owner must do something about; zero for never.
	Rotates, Expires time.Time
}

// KnownTo lists what the units of an application are told of the secret: each reader
// which revision it keeps to, and who cares for it, which is its owner, or the leader
// of that, when something is due. leader is the number of the application's, empty
// for none; open are the UIDs of its relations that live and are not suspended. A
// reader that may not read now is told nothing: its handler could only fail, and all
// its other events wait until that succeeds.
func (s Secret) KnownTo(application, leader string, open []string) []Known {
	if s.Ended() {
		return nil
	}
	var all []Known
	for _, r := range s.Readers {
		if r.Application == application && r.Revision > 0 && s.grants(r, func(a Access) bool { return slices.Contains(open, a.Relation) }) {
			all = append(all, Known{Unit: r.Unit, ID: s.ID, Label: r.Label, Latest: s.latest().Number, Kept: r.Revision})
		}
	}
	own := Known{Unit: s.Owner.Unit, ID: s.ID, Label: s.Label, Latest: s.latest().Number, Own: s.Owner.Unit != "", Rotates: s.Rotates, Expires: s.latest().Expires}
	if !own.Own {
		own.Unit = leader
	}
	if s.Owner.Application == application && own.Unit != "" {
		all = append(all, own)
	}
	return all
}
