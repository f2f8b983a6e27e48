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
			own.Leaving, own.Returns = conversation.Reason(u.Leaving), u.Returns
		}
	}
	return v.Shared("").For(own)
}

// Shared returns what all units of the application see, in its namespace.
func (v View) Shared(namespace string) conversation.View {
	shared := conversation.View{Application: v.Application, Namespace: namespace, Bags: v.Bags}
	for _, r := range v.Relations {
		shared.Relations = append(shared.Relations, r.Shown)
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
			own := owns[member.Unit.Number]
			own.Number = member.Unit.Number
			own.Sides = append(own.Sides, v.side(r, member))
			owns[member.Unit.Number] = own
		}
	}
	return owns
}

func (v View) side(r Seen, member conversation.Member) conversation.Side {
	side := conversation.Side{Relation: r.UID, Bag: member.Bag}
	if r.Shown.Role == application.Peer || v.Leader.Term > 0 && v.Leader.Unit == member.Unit.Number {
		side.ApplicationBag = r.OwnBag.OrEmpty()
		side.ApplicationWriter, _ = conversation.ParseUnit(v.Application + "/" + r.OwnWriter) // none where it is not known
	}
	return side
}

// Self returns the side's own application as the other side names it.
func (s Seen) Self() string { return s.Here.From(s.Shown.There.Namespace) }
