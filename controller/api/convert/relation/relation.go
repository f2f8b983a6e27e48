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
		Name: r.Name, UID: string(r.UID),
		Interface: r.Spec.Interface, Version: int(r.Spec.InterfaceVersion),
		Declared: r.Spec.Origin == v1alpha1.OriginDeclared,
		Created:  r.CreationTimestamp.UTC(),
		Deleted:  value.Time(r.DeletionTimestamp),
		State: relation.State{
			HeldSince: value.Time(r.Status.HoldTime), HeldReason: r.Status.HoldReason, Data: relation.Data(r.Status.Data),
			Offer: r.Status.Offer, SuspendedSince: value.Time(r.Status.SuspensionTime),
			EndReason: r.Status.EndReason, Left: r.Status.EndedUnits, Closed: r.Status.SuspendedUnits,
			Status: relation.Status(r.Status.RelationStatus), Conditions: value.Conditions(r.Status.Conditions),
			RequirerStatus: ToSideStatus(r.Status.RequirerStatus), ProviderStatus: ToSideStatus(r.Status.ProviderStatus),
		},
	}
	if r.Status.Retention != nil {
		d.State.Retain = r.Status.Retention.Duration
	}
	id, err := value.Int(r.Status.ID)
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

// SetRelation writes the domain's state into the status. The relations API writes the statuses of the
// sides, which stay.
func SetRelation(r *v1alpha1.Relation, s relation.State, now time.Time) {
	r.Status.ObservedGeneration = r.Generation
	r.Status.ID = int64(s.ID)
	r.Status.Requirer, r.Status.Provider = r.Spec.Requirer.String(), r.Spec.Provider.String()
	r.Status.HoldTime, r.Status.HoldReason, r.Status.Data = value.FromTime(s.HeldSince), s.HeldReason, string(s.Data)
	r.Status.Retention = nil
	if s.Retain != 0 {
		r.Status.Retention = &metav1.Duration{Duration: s.Retain}
	}
	r.Status.Offer, r.Status.SuspensionTime = s.Offer, value.FromTime(s.SuspendedSince)
	r.Status.EndReason = s.EndReason
	keepAnswers(r, s)
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

// Side returns the field that holds the status of a side. The one side of a peer relation is its
// requirer.
func Side(r *v1alpha1.Relation, role application.Role) **v1alpha1.SideStatus {
	if role == application.Provider {
		return &r.Status.ProviderStatus
	}
	return &r.Status.RequirerStatus
}
