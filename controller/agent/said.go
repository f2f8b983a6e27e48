package agent

import (
	"maps"
	"slices"
	"strings"
	"time"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// toConversation reads a snapshot as what the unit may know. Bags of units and
// of its own side are there; that it leads is not in it.
func toConversation(s *wire.Snapshot) conversation.Snapshot {
	unit := conversation.Unit{Application: s.GetUnit().GetApplication(), Number: int(s.GetUnit().GetNumber())}
	own := map[string]*wire.Own{}
	for _, o := range s.GetOwn() {
		own[o.GetRelation()] = o
	}
	out := conversation.Snapshot{Unit: unit, Leaving: conversation.Reason(s.GetUnit().GetLeaving())}
	for _, r := range s.GetRelations() {
		heard := toRelation(r, unit, s.GetUnit().GetNamespace())
		mine, seen := own[r.GetUid()]
		heard.Unseen, heard.OwnBag = !seen, mine.GetBag().GetData()
		heard.OwnApplicationBag = mine.GetApplication().GetData()
		heard.OwnApplicationWriter, _ = conversation.ParseUnit(unit.Application + "/" + mine.GetApplicationWriter()) // none where it is not known
		out.Relations = append(out.Relations, heard)
	}
	for _, k := range s.GetSecrets() {
		out.Secrets = append(out.Secrets, conversation.Secret{
			ID: k.GetId(), Label: k.GetLabel(), Latest: int(k.GetLatest()), Kept: int(k.GetKept()), Own: k.GetOwn(),
			Rotates: fromSeconds(k.GetRotates()), Expires: fromSeconds(k.GetExpires()),
		})
	}
	return out
}

func toRelation(r *wire.Relation, unit conversation.Unit, namespace string) conversation.Relation {
	out := conversation.Relation{
		UID: r.GetUid(), ID: int(r.GetId()), Endpoint: r.GetEndpoint(),
		Role: application.Role(r.GetRole()), Interface: r.GetInterface(), Version: int(r.GetInterfaceVersion()),
		Remote: r.GetRemoteApplication(), Life: conversation.Alive, RemoteBag: r.GetBag().GetData(),
		Granted: conversation.Granted{ID: r.GetGranted().GetId(), Revision: int(r.GetGranted().GetRevision())},
	}
	if out.Role == "" {
		out.Role = application.Requirer
	}
	if other := r.GetRemoteNamespace(); other != "" && other != namespace {
		out.Remote += "." + other
	}
	switch {
	case r.GetEnded():
		out.Life, out.EndReason, out.Final = conversation.Ending, conversation.RelationRemoved, true
	case r.GetSuspended():
		out.Life, out.EndReason = conversation.Suspended, conversation.SuspendedReason
	}
	for _, u := range r.GetUnits() {
		member := conversation.Member{Unit: conversation.Unit{Application: out.Remote, Number: int(u.GetNumber())}, Bag: u.GetBag().GetData()}
		if member.Unit != unit {
			out.Units = append(out.Units, member)
		}
	}
	for _, u := range r.GetDeparted() {
		out.Departed = append(out.Departed, conversation.Tombstone{
			Unit:   conversation.Unit{Application: out.Remote, Number: int(u.GetNumber())},
			Reason: conversation.Reason(u.GetReason()), Bag: u.GetBag().GetData(), Since: time.Unix(u.GetSince(), 0).UTC(),
			Owed: slices.Contains(u.GetOwed(), int64(unit.Number)), Inherited: u.GetInherited(),
		})
	}
	return out
}

// toChanges writes a transaction as the API takes it.
func toChanges(changes []conversation.Change) []*wire.Change {
	var out []*wire.Change
	for _, c := range changes {
		set := map[string]string{}
		maps.Copy(set, c.Added)
		for key, pair := range c.Changed {
			set[key] = pair.To
		}
		for key := range c.Removed {
			set[key] = ""
		}
		out = append(out, &wire.Change{Relation: c.Relation, Application: !strings.Contains(c.Owner, "/"), Set: set})
	}
	return out
}
