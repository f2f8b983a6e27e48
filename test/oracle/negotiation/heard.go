package negotiation

import (
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Heard is what one unit of the application may know, as its agent makes it of what
// travels: without its leadership, which its own lease tells. Of its side it has its
// own bag and, for the leader and among peers, the application's (RELATIONS.md P).
func (v View) Heard(unit int) conversation.Snapshot {
	s := conversation.Snapshot{Unit: conversation.Unit{Application: v.Application, Number: unit}}
	for _, u := range v.Units {
		if u.Number == unit {
			s.Leaving = conversation.Reason(u.Leaving)
		}
	}
	for _, r := range v.Relations {
		heard := r.heard(s.Unit)
		heard.Unseen = true
		for _, own := range r.Own {
			if own.Number != unit {
				continue
			}
			heard.Unseen, heard.OwnBag = false, own.Bag
			if heard.Role == application.Peer || v.Leader.Term > 0 && v.Leader.Unit == unit {
				heard.OwnApplicationBag = r.OwnBag
				heard.OwnApplicationWriter, _ = conversation.ParseUnit(v.Application + "/" + r.OwnWriter) // none where it is not known
			}
		}
		s.Relations = append(s.Relations, heard)
	}
	return s
}

// Remote is the other application as the side names it.
func (s Seen) Remote() string { return s.There.from(s.Here.Namespace) }

// Self is the side's own application as the other side names it.
func (s Seen) Self() string { return s.Here.from(s.There.Namespace) }

// heard is one relation as a unit knows it. A relation that is not alive is over
// for good, one that is not open may come back (SAFETY.md E14); who is neither in
// scope nor departed is not known.
func (s Seen) heard(unit conversation.Unit) conversation.Relation {
	r := conversation.Relation{
		UID: s.UID, ID: s.State.ID, Endpoint: s.Here.Endpoint, Role: s.Role,
		Interface: s.Interface, Version: s.Version, Remote: s.Remote(), Life: conversation.Alive, RemoteBag: s.Bag, Granted: s.Granted,
	}
	switch {
	case !s.Alive():
		r.Life, r.EndReason, r.Final = conversation.Ending, conversation.RelationRemoved, true
	case !s.Open():
		r.Life, r.EndReason = conversation.Suspended, conversation.SuspendedReason
	}
	for _, u := range s.Units {
		if other := (conversation.Unit{Application: r.Remote, Number: u.Number}); other != unit {
			r.Units = append(r.Units, conversation.Member{Unit: other, Bag: u.Bag})
		}
	}
	for _, u := range s.Departed {
		r.Departed = append(r.Departed, conversation.Tombstone{
			Unit: conversation.Unit{Application: r.Remote, Number: u.Unit.Number}, Reason: u.Reason, Since: u.Since, Bag: u.Bag,
			Owed: slices.Contains(u.Owed, s.Unit(s.Here, unit.Number)), Inherited: u.Inherited(),
		})
	}
	return r
}
