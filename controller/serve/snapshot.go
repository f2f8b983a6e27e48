package serve

import (
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// toSnapshot writes a view as the wire has it.
func toSnapshot(view relation.View, id kube.Identity, revisions map[string]uint64) *v1alpha1.Snapshot {
	s := &v1alpha1.Snapshot{
		Revisions: revisions,
		Unit:      &v1alpha1.Unit{Application: view.Application, Namespace: id.Namespace},
	}
	for _, u := range view.Units {
		if u.PodUID == id.UID {
			s.Unit.Number, s.Unit.Known = int64(u.Number), true
		}
	}
	for _, r := range view.Relations {
		s.Relations = append(s.Relations, toRelation(r))
	}
	for _, w := range view.Waiting {
		s.Waiting = append(s.Waiting, &v1alpha1.Waiting{Endpoint: w.Endpoint, Reason: w.Reason, Message: w.Message})
	}
	return s
}

func toRelation(r relation.Seen) *v1alpha1.Relation {
	return &v1alpha1.Relation{
		Id: int64(r.State.ID), Uid: r.UID, Endpoint: r.Requirer.Endpoint,
		Interface: r.Interface, InterfaceVersion: int64(r.Version),
		RemoteApplication: r.Provider.Application, RemoteNamespace: r.Provider.Namespace, RemoteEndpoint: r.Provider.Endpoint,
		Bag:      &v1alpha1.Databag{Data: r.Bag, Version: relation.Version(r.Bag)},
		Complete: r.Complete, Reason: r.Reason, Message: r.Message,
		Held: r.Held(), Ended: !r.Alive(),
	}
}
