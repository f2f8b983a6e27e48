package agent

import (
	"time"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// toRelation returns a relation as all units in a namespace see it.
func toRelation(r *wire.Relation, namespace string) conversation.Relation {
	out := conversation.Relation{
		UID: r.GetUid(), ID: int(r.GetId()), Endpoint: r.GetEndpoint(), Role: application.Role(r.GetRole()),
		Interface: r.GetInterface(), Version: int(r.GetInterfaceVersion()),
		There: conversation.End{
			Namespace: r.GetRemoteNamespace(), Application: r.GetRemoteApplication(), Endpoint: r.GetRemoteEndpoint(),
		},
		Remote: r.GetRemoteApplication(), Life: conversation.Alive, RemoteBag: RefTo(r.GetBag()),
		Granted:  conversation.Granted{ID: r.GetGranted().GetId(), Revision: int(r.GetGranted().GetRevision())},
		Complete: r.GetComplete(), Reason: r.GetReason(), Message: r.GetMessage(), Held: r.GetHeld(),
		End: toOwing(r.GetEndOwed(), r.GetEndInherited()),
	}
	if out.Role == "" {
		out.Role = application.Requirer
	}
	if out.There.Namespace != "" {
		out.Remote = out.There.From(namespace)
	}
	switch {
	case r.GetEnded():
		out.Life, out.EndReason, out.Final = conversation.Ending, conversation.RelationRemoved, true
	case r.GetSuspended():
		out.Life, out.EndReason = conversation.Suspended, conversation.SuspendedReason
	}
	for _, u := range r.GetUnits() {
		unit := conversation.Unit{Application: out.Remote, Number: int(u.GetNumber())}
		out.Units = append(out.Units, conversation.Member{Unit: unit, Bag: RefTo(u.GetBag())})
	}
	for _, u := range r.GetDeparted() {
		out.Departed = append(out.Departed, toTombstone(u, out.Remote))
	}
	return out
}

func toTombstone(u *wire.DepartedUnit, application string) conversation.Tombstone {
	return conversation.Tombstone{
		Unit: conversation.Unit{Application: application, Number: int(u.GetNumber())}, Reason: conversation.Reason(u.GetReason()),
		Bag: RefTo(u.GetBag()), Since: time.Unix(u.GetSince(), 0).UTC(), Owing: toOwing(u.GetOwed(), u.GetInherited()),
	}
}

// toOwing returns to which units an event is owed.
func toOwing(numbers []int64, inherited bool) conversation.Owing {
	out := conversation.Owing{Inherited: inherited}
	for _, number := range numbers {
		out.Owed = append(out.Owed, int(number))
	}
	return out
}

// forOwed returns the numbers of the units to which an event is owed.
func forOwed(o conversation.Owing) []int64 {
	var out []int64
	for _, number := range o.Owed {
		out = append(out, int64(number))
	}
	return out
}

// ForRelation returns a relation as all units see it, with its bags.
func ForRelation(r conversation.Relation, bags conversation.Bags) *wire.Relation {
	out := &wire.Relation{
		Id: int64(r.ID), Uid: r.UID, Endpoint: r.Endpoint, Role: string(r.Role),
		Interface: r.Interface, InterfaceVersion: int64(r.Version),
		RemoteApplication: r.There.Application, RemoteNamespace: r.There.Namespace, RemoteEndpoint: r.There.Endpoint,
		Bag:      ForBag(r.RemoteBag, bags),
		Complete: r.Complete, Reason: r.Reason, Message: r.Message, Held: r.Held,
		Ended: r.Life == conversation.Ending, Suspended: r.Life == conversation.Suspended,
		EndOwed: forOwed(r.End), EndInherited: r.End.Inherited,
	}
	if r.Granted.ID != "" {
		out.Granted = &wire.GrantedSecret{Id: r.Granted.ID, Revision: int64(r.Granted.Revision)}
	}
	for _, m := range r.Units {
		out.Units = append(out.Units, &wire.RemoteUnit{Number: int64(m.Unit.Number), Bag: ForBag(m.Bag, bags)})
	}
	for _, t := range r.Departed {
		out.Departed = append(out.Departed, &wire.DepartedUnit{
			Number: int64(t.Unit.Number), Reason: string(t.Reason), Bag: ForBag(t.Bag, bags), Since: t.Since.Unix(),
			Owed: forOwed(t.Owing), Inherited: t.Inherited,
		})
	}
	return out
}

// ForWaiting returns an endpoint without a relation.
func ForWaiting(w conversation.Waiting) *wire.Waiting {
	return &wire.Waiting{Endpoint: w.Endpoint, Reason: w.Reason, Message: w.Message}
}

// RefTo returns the reference to the content of a bag. A message has the version of its data, so that an agent does not
// hash what it only passes on; what an agent remembers may have none.
func RefTo(b *wire.Databag) databag.Ref {
	if ref := (databag.Ref{Version: b.GetVersion()}); !ref.Empty() {
		return ref
	}
	return databag.RefTo(b.GetData())
}

// ForBag returns a bag; an empty one for none. Without bags it has its version alone.
func ForBag(ref databag.Ref, bags conversation.Bags) *wire.Databag {
	return &wire.Databag{Data: bags.Bag(ref), Version: ref.OrEmpty().Version}
}

// forMemory returns a relation as an agent remembers it: without what only the latest snapshot can
// know. A bag has its data or, if bags lack that, its version.
func forMemory(r conversation.Relation, bags conversation.Bags) *wire.Relation {
	r.Units, r.Departed, r.End = nil, nil, conversation.Owing{}
	out := ForRelation(r, bags)
	if r.RemoteBag.Empty() || len(out.Bag.GetData()) > 0 {
		out.Bag.Version = ""
	}
	out.Granted = &wire.GrantedSecret{Id: r.Granted.ID, Revision: int64(r.Granted.Revision)}
	return out
}
