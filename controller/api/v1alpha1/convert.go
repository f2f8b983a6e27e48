package v1alpha1

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// ToDomain returns the relation; beside an error, the part that can be read.
func (r *Relation) ToDomain() (relation.Relation, error) {
	d := relation.Relation{
		Key: relation.Key{
			Requirer: r.Spec.Requirer.toDomain(r.Namespace),
			Provider: r.Spec.Provider.toDomain(r.Namespace),
		},
		Name: r.Name, UID: string(r.UID),
		Interface: r.Spec.Interface, Version: int(r.Spec.InterfaceVersion),
		Declared: r.Spec.Origin == OriginDeclared,
		Created:  r.CreationTimestamp.UTC(),
		Deleted:  toTime(r.DeletionTimestamp),
		State: relation.State{
			HeldSince: toTime(r.Status.HoldTime), HeldReason: r.Status.HoldReason, Data: relation.Data(r.Status.Data),
			Offer: r.Status.Offer, SuspendedSince: toTime(r.Status.SuspensionTime),
			EndReason: r.Status.EndReason, Left: r.Status.EndedUnits, Closed: r.Status.SuspendedUnits,
			Status: relation.Status(r.Status.RelationStatus), Conditions: toConditions(r.Status.Conditions),
			RequirerStatus: r.Status.RequirerStatus.ToDomain(), ProviderStatus: r.Status.ProviderStatus.ToDomain(),
		},
	}
	if r.Status.Retention != nil {
		d.State.Retain = r.Status.Retention.Duration
	}
	id, err := toInt(r.Status.ID)
	d.State.ID = id
	if err != nil {
		return d, fmt.Errorf("cannot read relation %q: id: %w", r.Name, err)
	}
	if d.State.Departures, err = r.Departures(); err != nil {
		return d, err
	}
	if d.Requirer.Namespace != r.Namespace {
		return d, fmt.Errorf("cannot read relation %q: a relation lives in its requirer's namespace, not in %s", r.Name, r.Namespace)
	}
	return d, nil
}

// SetState writes the state into the status. The statuses that the sides report stay: the relations
// API writes them.
func (r *Relation) SetState(s relation.State, now time.Time) {
	r.Status.ObservedGeneration = r.Generation
	r.Status.ID = int64(s.ID)
	r.Status.Requirer, r.Status.Provider = r.Spec.Requirer.String(), r.Spec.Provider.String()
	r.Status.HoldTime, r.Status.HoldReason, r.Status.Data = fromTime(s.HeldSince), s.HeldReason, string(s.Data)
	r.Status.Retention = nil
	if s.Retain != 0 {
		r.Status.Retention = &metav1.Duration{Duration: s.Retain}
	}
	r.Status.Offer, r.Status.SuspensionTime = s.Offer, fromTime(s.SuspendedSince)
	r.Status.EndReason = s.EndReason
	r.keep(s)
	r.Status.RelationStatus = string(s.Status)
	r.Status.Conditions = setConditions(r.Status.Conditions, s.Conditions, r.Generation, now)
}

// ForPair returns a new Relation for a pair of declared ends.
func ForPair(namespace string, p relation.Pair) *Relation {
	r := &Relation{Spec: RelationSpec{
		Requirer:         RelationEnd{Application: p.Requirer.Application, Endpoint: p.Requirer.Endpoint},
		Provider:         RelationEnd{Application: p.Provider.Application, Endpoint: p.Provider.Endpoint},
		Interface:        p.Interface,
		InterfaceVersion: fromInt(p.Version),
		Origin:           OriginDeclared,
	}}
	if p.Provider.Namespace != namespace {
		r.Spec.Provider.Namespace = p.Provider.Namespace
	}
	r.Namespace, r.Name = namespace, p.Name()
	r.Finalizers = []string{Finalizer}
	return r
}

func (e RelationEnd) toDomain(namespace string) relation.End {
	return relation.End{Namespace: cmp.Or(e.Namespace, namespace), Application: e.Application, Endpoint: e.Endpoint}
}

// ToDomain returns the record of the application.
func (a *RelatedApplication) ToDomain() (relation.Record, error) {
	s := a.Status
	record := relation.Record{Name: a.Name, UID: string(a.UID), State: relation.ApplicationState{
		Sources: s.Sources, Workload: s.Workload.ToDomain(), Conditions: toConditions(s.Conditions),
	}}
	state := &record.State
	for _, e := range s.Endpoints {
		state.Endpoints = append(state.Endpoints, application.Endpoint{
			Name: e.Name, Role: application.Role(e.Role), Interface: e.Interface,
			Version: int(e.Version), Optional: e.Necessity == Optional, Limit: int(e.Limit),
		})
	}
	for _, o := range s.Exclusions {
		state.LeftOut = append(state.LeftOut, application.Fault{Application: a.Name, Object: o.Object, Reason: o.Reason,
			Message: o.Message, Pods: o.Pods})
	}
	for _, w := range s.Waits {
		state.Waiting = append(state.Waiting, relation.Waiting{
			Endpoint: w.Endpoint, Optional: w.Necessity == Optional, Reason: w.Reason, Message: w.Message,
		})
	}
	for _, u := range s.Units {
		number, err := toInt(u.Number)
		if err != nil {
			return record, fmt.Errorf("cannot read application %q: unit: %w", a.Name, err)
		}
		state.Units = append(state.Units, application.Unit{
			Number: number, Pod: u.Pod, PodUID: u.PodUID, Address: u.Address, Handles: u.Handlers == HandlersPresent,
			Since: u.CreationTime.UTC(), Leaving: u.TerminationReason, Gone: u.DepartureReason, GoneSince: toTime(u.DepartureTime),
			Workload: u.Workload.ToDomain(), Failing: u.Failure.ToDomain(),
		})
	}
	if r := s.Restarts; r != nil {
		state.Restarts.Versions = r.Versions
		for i := range r.Times {
			state.Restarts.Times = append(state.Restarts.Times, r.Times[i].UTC())
		}
	}
	var err error
	if state.NextUnit, err = toInt(s.NextUnit); err == nil {
		state.LastRelation, err = toInt(s.LastRelation)
	}
	if err == nil {
		state.Grants, err = a.GrantsToDomain()
	}
	if err != nil {
		return record, fmt.Errorf("cannot read application %q: %w", a.Name, err)
	}
	return record, nil
}

// SetState writes the state into the status. The leader and the statuses that workloads report stay:
// the relations API writes them.
func (a *RelatedApplication) SetState(s relation.ApplicationState, now time.Time) {
	status := RelatedApplicationStatus{
		ObservedGeneration: a.Generation,
		Sources:            s.Sources,
		NextUnit:           int64(s.NextUnit),
		LastRelation:       int64(s.LastRelation),
		Conditions:         setConditions(a.Status.Conditions, s.Conditions, a.Generation, now),
	}
	for _, e := range s.Endpoints {
		status.Endpoints = append(status.Endpoints, Endpoint{
			Name: e.Name, Role: Role(e.Role), Interface: e.Interface,
			Version: fromInt(e.Version), Necessity: necessity(e.Optional), Limit: fromInt(e.Limit),
		})
	}
	for _, o := range s.LeftOut {
		status.Exclusions = append(status.Exclusions, Exclusion{Object: o.Object, Reason: o.Reason, Message: o.Message, Pods: o.Pods})
	}
	for _, w := range s.Waiting {
		status.Waits = append(status.Waits, Wait{
			Endpoint: w.Endpoint, Necessity: necessity(w.Optional), Reason: w.Reason, Message: w.Message,
		})
	}
	living := int64(0)
	status.LivingUnits = &living
	for _, u := range s.Units {
		unit := Unit{
			Number: int64(u.Number), Pod: u.Pod, PodUID: u.PodUID, Address: u.Address,
			CreationTime: metav1.NewTime(u.Since), TerminationReason: u.Leaving, DepartureReason: u.Gone, DepartureTime: fromTime(u.GoneSince),
		}
		if u.Handles {
			unit.Handlers = HandlersPresent
		}
		if u.Gone == "" {
			living++
		}
		status.Units = append(status.Units, unit)
	}
	for _, g := range s.Grants {
		status.Grants = append(status.Grants, Grant{
			Endpoint: g.Endpoint, Secret: g.Secret, Consent: consent(g.Refused), Key: g.Key, Version: g.Version, Revision: int64(g.Revision),
		})
	}
	if len(s.Restarts.Versions)+len(s.Restarts.Times) > 0 {
		status.Restarts = &Restarts{Versions: maps.Clone(s.Restarts.Versions)}
		for _, t := range s.Restarts.Times {
			status.Restarts.Times = append(status.Restarts.Times, metav1.NewTime(t))
		}
	}
	status.keep(a.Status)
	a.Status = status
}

// LeaderToDomain returns the leader of the application.
func (a *RelatedApplication) LeaderToDomain() leadership.Leader {
	l := a.Status.Leader
	if l == nil {
		return leadership.Leader{}
	}
	return leadership.Leader{Unit: int(l.Unit), PodUID: l.PodUID, Term: int(l.Term), Expires: l.ExpirationTime.UTC()}
}

// SetLeader writes the leader into the status. Its time is exact to the microsecond.
func (a *RelatedApplication) SetLeader(l leadership.Leader) {
	a.Status.Leader = &Leader{Unit: int64(l.Unit), PodUID: l.PodUID, Term: int64(l.Term), ExpirationTime: metav1.NewMicroTime(l.Expires)}
}

func necessity(optional bool) Necessity {
	if optional {
		return Optional
	}
	return Required
}

// GrantsToDomain returns the grants of the application.
func (a *RelatedApplication) GrantsToDomain() ([]relation.Grant, error) {
	var all []relation.Grant
	for _, g := range a.Status.Grants {
		revision, err := toInt(g.Revision)
		if err != nil {
			return nil, fmt.Errorf("cannot read what endpoint %s grants: %w", g.Endpoint, err)
		}
		all = append(all, relation.Grant{
			Endpoint: g.Endpoint, Secret: g.Secret, Key: g.Key, Version: g.Version, Revision: revision, Refused: g.Consent != ConsentGiven,
		})
	}
	return all, nil
}

func consent(refused bool) Consent {
	if refused {
		return ConsentMissing
	}
	return ConsentGiven
}

// ToDomain returns the offer.
func (o *Offer) ToDomain() relation.Offer {
	return relation.Offer{
		Namespace: o.Namespace, Name: o.Name, UID: string(o.UID),
		Application: o.Spec.Application, Endpoint: o.Spec.Endpoint, Consumers: o.Spec.Consumers, Secrets: o.Spec.Secrets,
		Seen:  o.Generation == o.Status.ObservedGeneration,
		State: relation.OfferState{Relations: int(o.Status.Relations), Conditions: toConditions(o.Status.Conditions)},
	}
}

// SetState writes the state into the status.
func (o *Offer) SetState(s relation.OfferState, now time.Time) {
	o.Status.ObservedGeneration = o.Generation
	o.Status.Relations = int64(s.Relations)
	o.Status.Conditions = setConditions(o.Status.Conditions, s.Conditions, o.Generation, now)
}

// ToDomain returns the document of the interface.
func (i *Interface) ToDomain() (schema.Published, error) {
	document, err := i.Spec.MarshalJSON()
	return schema.Published{Object: i.Name, Document: string(document), Changed: i.Generation > 1}, err
}

// SetState writes the conditions and the origin into the status.
func (i *Interface) SetState(conditions []condition.Condition, now time.Time) {
	i.Status.ObservedGeneration = i.Generation
	i.Status.Origin = originOf(conditions)
	i.Status.Conditions = setConditions(i.Status.Conditions, conditions, i.Generation, now)
}

// originOf returns which definition is in force; "" if neither is.
func originOf(conditions []condition.Condition) string {
	ready, _ := condition.Find(conditions, condition.Ready)
	switch {
	case ready.True:
		return OriginCluster
	case ready.Reason == schema.ReasonBuiltIn:
		return OriginBuiltIn
	default:
		return ""
	}
}

// setConditions returns wanted as API conditions. A condition whose status does not change keeps its
// time.
func setConditions(before []metav1.Condition, wanted []condition.Condition, generation int64, now time.Time) []metav1.Condition {
	old := map[string]metav1.Condition{}
	for _, c := range before {
		old[c.Type] = c
	}
	var all []metav1.Condition
	for _, c := range wanted {
		status := metav1.ConditionFalse
		if c.True {
			status = metav1.ConditionTrue
		}
		next := metav1.Condition{
			Type: string(c.Type), Status: status, Reason: c.Reason, Message: c.Message,
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
		}
		if o, ok := old[next.Type]; ok && o.Status == status {
			next.LastTransitionTime = o.LastTransitionTime
		}
		all = append(all, next)
	}
	return all
}

// Why returns the condition Ready with its whole message. Ready itself has the part that fits into a
// table cell; the rest is in Reconciling or Stalled.
func Why(all []metav1.Condition) (why metav1.Condition, found bool) {
	ready := meta.FindStatusCondition(all, string(condition.Ready))
	if ready == nil {
		return metav1.Condition{}, false
	}
	why = *ready
	why.Message = condition.Why(toConditions(all)).Message
	return why, true
}

func toConditions(all []metav1.Condition) []condition.Condition {
	var cs []condition.Condition
	for _, c := range all {
		cs = append(cs, condition.Condition{
			Type: condition.Type(c.Type), True: c.Status == metav1.ConditionTrue, Reason: c.Reason, Message: c.Message,
		})
	}
	return cs
}

func toTime(t *metav1.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

func fromTime(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}

func toInt(n int64) (int, error) {
	if n < 0 || n > math.MaxInt32 {
		return 0, fmt.Errorf("%d is out of range", n)
	}
	return int(n), nil
}

// fromInt narrows a number that the domain keeps small.
func fromInt(n int) int32 {
	return int32(min(max(n, 0), math.MaxInt32))
}

// OnlyRenews reports whether the end of the leader's lease is all that has changed. That is written
// every few seconds for each application with a leader, and matters to no other.
func (a *RelatedApplication) OnlyRenews(before *RelatedApplication) bool {
	if before.Status.Leader == nil || a.Status.Leader == nil {
		return false
	}
	renewed, leader := *before, *before.Status.Leader
	leader.ExpirationTime = a.Status.Leader.ExpirationTime
	renewed.Status.Leader = &leader
	renewed.ResourceVersion, renewed.ManagedFields = a.ResourceVersion, a.ManagedFields
	return equality.Semantic.DeepEqual(&renewed, a)
}

// OnlySays reports whether reported statuses, failures and conditions are all that has changed. They
// matter to no other namespace.
func (a *RelatedApplication) OnlySays(before *RelatedApplication) bool {
	was, is := before.silent(), a.silent()
	was.ResourceVersion, was.ManagedFields = a.ResourceVersion, a.ManagedFields
	return equality.Semantic.DeepEqual(was, is)
}

// silent returns the application without reported statuses, failures and conditions.
func (a *RelatedApplication) silent() *RelatedApplication {
	silent := *a
	silent.Status.Workload, silent.Status.Conditions, silent.Status.Units = nil, nil, slices.Clone(a.Status.Units)
	for i := range silent.Status.Units {
		silent.Status.Units[i].Workload, silent.Status.Units[i].Failure = nil, nil
	}
	return &silent
}
