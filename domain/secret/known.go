package secret

import (
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Known is a secret that one unit reads, or that it or its application owns.
type Known struct {
	conversation.Secret

	// Unit is the unit's number.
	Unit string
}

// KnownTo lists what the units of an application know of the secret. A reader knows the revision that it
// keeps to. The owner, of an application its leader, knows when something is due. leader is the number of
// the application's leader, empty for none; open are the UIDs of its relations that live and are not
// suspended. A reader that may not read now knows nothing: its handler could only fail, and all its other
// events would wait until that succeeds.
func (s Secret) KnownTo(application, leader string, open []string) []Known {
	if s.Ended() {
		return nil
	}
	var all []Known
	for _, r := range s.Readers {
		if r.Application == application && r.Revision > 0 && s.grants(r, func(a Access) bool { return slices.Contains(open, a.Relation) }) {
			all = append(all, Known{conversation.Secret{ID: s.ID, Label: r.Label, Latest: s.latest().Number, Kept: r.Revision}, r.Unit})
		}
	}
	own := Known{conversation.Secret{
		ID: s.ID, Label: s.Label, Latest: s.latest().Number, Own: s.Owner.Unit != "", Rotates: s.Rotates, Expires: s.latest().Expires,
	}, s.Owner.Unit}
	if !own.Own {
		own.Unit = leader
	}
	if s.Owner.Application == application && own.Unit != "" {
		all = append(all, own)
	}
	return all
}
