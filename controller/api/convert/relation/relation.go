package relation

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// ToRelation returns a Relation as the domain knows it; with an error, what of it is readable.
func ToRelation(r *v1alpha1.Relation) (relation.Relation, error) {
	d := relation.Relation{
		Key: relation.Key{
			Requirer: toEnd(r.Spec.Requirer, r.Namespace),
			Provider: toEnd(r.Spec.Provider, r.Namespace),
		},
		Name: r.Name, UID: Identity(r), Object: string(r.UID),
		Interface: r.Spec.Interface, Version: int(r.Spec.InterfaceVersion),
		Declared: r.Spec.Origin == v1alpha1.OriginDeclared,
		Created:  r.CreationTimestamp.UTC(),
		Deleted:  value.Time(r.DeletionTimestamp),
		State: relation.State{
			Began:     value.Time(r.State.StartTime),
			HeldSince: value.Time(r.Status.HoldTime), HeldReason: r.Status.HoldReason, Data: relation.Data(r.Status.Data),
			Offer: r.Status.Offer, ProviderUID: r.State.ProviderNamespaceUID, SuspendedSince: value.Time(r.Status.SuspensionTime),
			EndReason: r.Status.EndReason, EndedSince: value.Time(r.Status.EndTime), Closed: r.Status.SuspendedUnits,
			Status: relation.Status(r.Status.RelationStatus), Conditions: value.Conditions(r.Status.Conditions),
			RequirerStatus: ToSideStatus(r.Status.RequirerStatus), ProviderStatus: ToSideStatus(r.Status.ProviderStatus),
		},
	}
	if r.Status.Retention != nil {
		d.State.Retain = r.Status.Retention.Duration
	}
	id, err := value.Int(r.State.ID)
	d.State.ID = id
	if err != nil {
		return d, fmt.Errorf("cannot read relation %q: id: %w", r.Name, err)
	}
	if d.State.Departures, err = ToDepartures(r); err != nil {
		return d, err
	}
	if d.Requirer.Namespace != r.Namespace {
		return d, fmt.Errorf("cannot read relation %q: a relation lives in its requirer's namespace, not in %s", r.Name, r.Namespace)
	}
	return d, nil
}

// Identity returns the identity of a relation: its object's UID until the controller has kept another.
func Identity(r *v1alpha1.Relation) string { return cmp.Or(r.State.Identity, string(r.UID)) }

// KeepRelation writes what cannot be computed again into the object itself. An identity that is stored stays; a relation
// without an id has none yet, and may take over that of another one.
func KeepRelation(r *v1alpha1.Relation, identity string, s relation.State) {
	r.State.ID, r.State.StartTime = int64(s.ID), value.FromTime(s.Began)
	if s.ID > 0 {
		r.State.Identity = cmp.Or(r.State.Identity, identity)
	}
	r.State.ProviderNamespaceUID = s.ProviderUID
}

// SetRelation writes the rest of the domain's state into the status. The relations API writes the statuses of the
// sides, which stay; those of a Relation without an id are of the one from which it takes over.
func SetRelation(r *v1alpha1.Relation, s relation.State, now time.Time) {
	r.Status.ObservedGeneration = r.Generation
	r.Status.Requirer, r.Status.Provider = EndText(r.Spec.Requirer), EndText(r.Spec.Provider)
	r.Status.HoldTime, r.Status.HoldReason, r.Status.Data = value.FromTime(s.HeldSince), s.HeldReason, string(s.Data)
	r.Status.Retention = nil
	if s.Retain != 0 {
		r.Status.Retention = &metav1.Duration{Duration: s.Retain}
	}
	r.Status.Offer, r.Status.SuspensionTime = s.Offer, value.FromTime(s.SuspendedSince)
	r.Status.EndReason, r.Status.EndTime = s.EndReason, value.FromTime(s.EndedSince)
	keepAnswers(r, s)
	if r.State.ID == 0 {
		r.Status.RequirerStatus, r.Status.ProviderStatus = inherited(s.RequirerStatus), inherited(s.ProviderStatus)
	}
	r.Status.RelationStatus = string(s.Status)
	r.Status.Conditions = value.SetConditions(r.Status.Conditions, s.Conditions, r.Generation, now)
}

// ForPair returns the Relation of a pair.
func ForPair(namespace string, p relation.Pair) *v1alpha1.Relation {
	r := &v1alpha1.Relation{Spec: v1alpha1.RelationSpec{
		Requirer:         v1alpha1.RelationEnd{Application: p.Requirer.Application, Endpoint: p.Requirer.Endpoint},
		Provider:         v1alpha1.RelationEnd{Application: p.Provider.Application, Endpoint: p.Provider.Endpoint},
		Interface:        p.Interface,
		InterfaceVersion: value.FromInt(p.Version),
		Origin:           v1alpha1.OriginDeclared,
	}}
	if p.Provider.Namespace != namespace {
		r.Spec.Provider.Namespace = p.Provider.Namespace
	}
	r.Namespace, r.Name = namespace, p.Name()
	r.Finalizers = []string{v1alpha1.Finalizer}
	return r
}

func toEnd(e v1alpha1.RelationEnd, namespace string) relation.End {
	return relation.End{Namespace: cmp.Or(e.Namespace, namespace), Application: e.Application, Endpoint: e.Endpoint}
}

// EndText returns an end as it is displayed.
func EndText(e v1alpha1.RelationEnd) string {
	text := e.Application + ":" + e.Endpoint
	if e.Namespace != "" {
		text += " in " + e.Namespace
	}
	return text
}

// Side returns the field that holds the status of a side. The one side of a peer relation is its
// requirer.
func Side(r *v1alpha1.Relation, role application.Role) **v1alpha1.SideStatus {
	if role == application.Provider {
		return &r.Status.ProviderStatus
	}
	return &r.Status.RequirerStatus
}
