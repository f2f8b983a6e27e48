package relation

import (
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Heard returns what one unit of the application knows, without its leadership, which its own lease
// tells.
func (v View) Heard(unit int) conversation.Snapshot {
	own := v.Owns()[unit]
	own.Number = unit
	for _, u := range v.Units {
		if u.Number == unit {
			own.Leaving = conversation.Reason(u.Leaving)
		}
	}
	return v.Shared("").For(own)
}

// Shared returns what all units of the application see, in its namespace.
func (v View) Shared(namespace string) conversation.View {
	shared := conversation.View{Application: v.Application, Namespace: namespace}
	for _, r := range v.Relations {
		shared.Relations = append(shared.Relations, r.shared())
	}
	for _, w := range v.Waiting {
		shared.Waiting = append(shared.Waiting, conversation.Waiting{Endpoint: w.Endpoint, Reason: w.Reason, Message: w.Message})
	}
	return shared
}

// Owns returns, by the number of each unit, the sides that it may read: its own bags and, for the
// leader and among peers, the application's (RELATIONS.md P).
func (v View) Owns() map[int]conversation.Own {
	owns := map[int]conversation.Own{}
	for _, r := range v.Relations {
		for _, member := range r.Own {
			own := owns[member.Number]
			own.Number = member.Number
			own.Sides = append(own.Sides, v.side(r, member))
			owns[member.Number] = own
		}
	}
	return owns
}

func (v View) side(r Seen, member Member) conversation.Side {
	side := conversation.Side{Relation: r.UID, Bag: member.Bag}
	if r.Role == application.Peer || v.Leader.Term > 0 && v.Leader.Unit == member.Number {
		side.ApplicationBag = r.OwnBag
		if side.ApplicationBag == nil {
			side.ApplicationBag = map[string]string{}
		}
		side.ApplicationWriter, _ = conversation.ParseUnit(v.Application + "/" + r.OwnWriter) // none where it is not known
	}
	return side
}

// Remote is the other application as the side names it.
func (s Seen) Remote() string { return s.There.From(s.Here.Namespace) }

// Self is the side's own application as the other side names it.
func (s Seen) Self() string { return s.Here.From(s.There.Namespace) }

// shared returns the relation as all units of the side know it. A relation that is not alive is over
// for good, one that is not open may come back (SAFETY.md E14). A unit that is neither in scope nor
// departed is not known.
func (s Seen) shared() conversation.Relation {
	r := conversation.Relation{
		UID: s.UID, ID: s.State.ID, Endpoint: s.Here.Endpoint, Role: s.Role,
		Interface: s.Interface, Version: s.Version, Remote: s.Remote(), There: s.There,
		Life: conversation.Alive, RemoteBag: s.Bag, Granted: s.Granted,
		Complete: s.Complete, Reason: s.Reason, Message: s.Message, Held: s.Held(),
	}
	switch {
	case !s.Alive():
		r.Life, r.EndReason, r.Final = conversation.Ending, conversation.RelationRemoved, true
	case !s.Open():
		r.Life, r.EndReason = conversation.Suspended, conversation.SuspendedReason
	}
	for _, u := range s.Units {
		r.Units = append(r.Units, conversation.Member{Unit: conversation.Unit{Application: r.Remote, Number: u.Number}, Bag: u.Bag})
	}
	for _, u := range s.Departed {
		departed := conversation.Tombstone{
			Unit: conversation.Unit{Application: r.Remote, Number: u.Unit.Number}, Reason: u.Reason, Since: u.Since, Bag: u.Bag,
			Inherited: u.Inherited(),
		}
		for _, unit := range u.Owed {
			departed.Owed = append(departed.Owed, unit.Number)
		}
		r.Departed = append(r.Departed, departed)
	}
	return r
}
