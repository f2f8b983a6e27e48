package agent

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// FromWire reads a snapshot. Nothing in it can be missing that would stop the
// agent: an absent message reads as an empty one.
func FromWire(s *wire.Snapshot) View {
	v := View{
		Revisions: s.GetRevisions(),
		Unit: Unit{
			Application: s.GetUnit().GetApplication(), Namespace: s.GetUnit().GetNamespace(),
			Number: s.GetUnit().GetNumber(), Known: s.GetUnit().GetKnown(), Ignored: s.GetUnit().GetIgnored(),
		},
	}
	for _, r := range s.GetRelations() {
		v.Relations = append(v.Relations, Relation{
			ID: r.GetId(), UID: r.GetUid(), Endpoint: r.GetEndpoint(), Role: r.GetRole(), Units: len(r.GetUnits()),
			Interface: r.GetInterface(), Version: r.GetInterfaceVersion(),
			Application: r.GetRemoteApplication(), Namespace: r.GetRemoteNamespace(), RemoteEndpoint: r.GetRemoteEndpoint(),
			Bag:      r.GetBag().GetData(),
			Granted:  Granted{ID: r.GetGranted().GetId(), Revision: r.GetGranted().GetRevision()},
			Complete: r.GetComplete(), Reason: r.GetReason(), Message: r.GetMessage(),
			Held: r.GetHeld(), Ended: r.GetEnded(), Suspended: r.GetSuspended(),
		})
	}
	for _, w := range s.GetWaiting() {
		v.Waiting = append(v.Waiting, Waiting{Endpoint: w.GetEndpoint(), Reason: w.GetReason(), Message: w.GetMessage()})
	}
	return v
}

// Encode writes what must outlive the process, in the order of seniority.
// Waiting is not remembered: it is about now.
func Encode(v View) ([]byte, error) {
	s := &wire.Snapshot{
		Revisions: v.Revisions,
		Unit: &wire.Unit{
			Application: v.Unit.Application, Namespace: v.Unit.Namespace,
			Number: v.Unit.Number, Known: v.Unit.Known,
		},
	}
	for _, r := range v.Relations {
		s.Relations = append(s.Relations, &wire.Relation{
			Id: r.ID, Uid: r.UID, Endpoint: r.Endpoint, Role: r.Role,
			Interface: r.Interface, InterfaceVersion: r.Version,
			RemoteApplication: r.Application, RemoteNamespace: r.Namespace, RemoteEndpoint: r.RemoteEndpoint,
			Bag:      &wire.Databag{Data: r.Bag},
			Granted:  &wire.GrantedSecret{Id: r.Granted.ID, Revision: r.Granted.Revision},
			Complete: r.Complete, Reason: r.Reason, Message: r.Message,
			Held: r.Held, Ended: r.Ended, Suspended: r.Suspended,
		})
	}
	memory, err := proto.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the agent's memory: %w", err)
	}
	return memory, nil
}

// Decode reads what Encode wrote. Nothing in it is present: no snapshot has been
// heard yet.
func Decode(memory []byte) (View, error) {
	s := &wire.Snapshot{}
	if err := proto.Unmarshal(memory, s); err != nil {
		return View{}, fmt.Errorf("cannot read the agent's memory: %w", err)
	}
	return FromWire(s), nil
}
