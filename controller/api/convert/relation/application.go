package relation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// ToRecord returns the record of an application.
func ToRecord(a *v1alpha1.RelatedApplication) (relation.Record, error) {
	s, kept := a.Status, a.State
	record := relation.Record{Name: a.Name, UID: string(a.UID), Made: a.CreationTimestamp.UTC(), Seen: s.LivingUnits != nil}
	record.State = relation.ApplicationState{
		Sources: s.Sources, Workload: ToStatus(s.Workload), Conditions: value.Conditions(s.Conditions), EndsOwed: int(s.EndsOwed),
	}
	state := &record.State
	for _, e := range s.Endpoints {
		state.Endpoints = append(state.Endpoints, application.Endpoint{
			Name: e.Name, Role: application.Role(e.Role), Interface: e.Interface,
			Version: int(e.Version), Optional: e.Necessity == v1alpha1.Optional, Limit: int(e.Limit),
		})
	}
	readStatus(state, a)
	said := map[string]v1alpha1.Report{}
	for _, r := range s.Reports {
		said[r.PodUID] = r
		if r.Shortage != nil {
			state.Shortages = append(state.Shortages, status.Shortage{
				Unit: int(r.Unit), Budget: string(r.Shortage.Budget), Since: r.Shortage.Time.UTC(),
			})
		}
	}
	for _, u := range kept.Units {
		unit, err := toUnit(u, said[u.PodUID])
		if err != nil {
			return record, fmt.Errorf("cannot read application %q: unit: %w", a.Name, err)
		}
		state.Units = append(state.Units, unit)
	}
	readHistory(state, kept)
	record.Copied = kept.StaleCopy == v1alpha1.StaleCopyPresent
	var err error
	if state.NextUnit, err = value.Int(kept.NextUnit); err == nil {
		state.Grants, err = ToGrants(a)
	}
	if err != nil {
		return record, fmt.Errorf("cannot read application %q: %w", a.Name, err)
	}
	return record, nil
}

// readStatus reads the lists of a status that need no check.
func readStatus(state *relation.ApplicationState, a *v1alpha1.RelatedApplication) {
	for _, o := range a.Status.Exclusions {
		state.LeftOut = append(state.LeftOut, application.Fault{Application: a.Name, Object: o.Object, Reason: o.Reason,
			Message: o.Message, Pods: o.Pods})
	}
	for _, w := range a.Status.Waits {
		state.Waiting = append(state.Waiting, relation.Waiting{
			Endpoint: w.Endpoint, Optional: w.Necessity == v1alpha1.Optional, Reason: w.Reason, Message: w.Message,
		})
	}
}

// readHistory reads the restarts, the recent ends, and when the last unit departed.
func readHistory(state *relation.ApplicationState, kept v1alpha1.RelatedApplicationState) {
	state.Vacant = value.Time(kept.VacancyTime)
	if r := kept.Restarts; r != nil {
		state.Restarts.Versions, state.Restarts.Copied = r.Versions, r.Copied
		for i := range r.Times {
			state.Restarts.Times = append(state.Restarts.Times, r.Times[i].UTC())
		}
	}
	for _, e := range kept.Ends {
		state.Ends = append(state.Ends, relation.RecentEnd{Relation: e.Relation, Namespace: e.Namespace, Time: e.Time.UTC(), Reason: e.Reason})
	}
}

// toUnit returns a unit with what its pod has reported.
func toUnit(u v1alpha1.Unit, said v1alpha1.Report) (application.Unit, error) {
	number, err := value.Int(u.Number)
	unit := application.Unit{
		Number: number, Pod: u.Pod, PodUID: u.PodUID, Address: u.Address, Handles: u.Handlers == v1alpha1.HandlersPresent,
		Since: u.CreationTime.UTC(), Leaving: u.TerminationReason, Gone: u.DepartureReason, GoneSince: value.Time(u.DepartureTime),
		Overdue:  value.Time(u.OverdueTime),
		Workload: ToStatus(said.Workload), Failing: ToFailure(said.Failure),
		Outdated: value.Time(said.OutdatedTime),
	}
	if said.Unwritten != nil {
		unit.Unwritten = status.Unwritten{Text: said.Unwritten.Message, Since: said.Unwritten.Time.UTC()}
	}
	if unit.Leaving == v1alpha1.UnitReturns {
		unit.Leaving, unit.Returns = "", true
	}
	return unit, err
}

// KeepApplication writes what cannot be computed again into the object itself. The highest term, which the
// relations API writes, stays.
func KeepApplication(a *v1alpha1.RelatedApplication, record relation.Record) {
	s := record.State
	kept := v1alpha1.RelatedApplicationState{NextUnit: int64(s.NextUnit), LastTerm: a.State.LastTerm, VacancyTime: value.FromTime(s.Vacant)}
	for _, u := range s.Units {
		unit := v1alpha1.Unit{
			Number: int64(u.Number), Pod: u.Pod, PodUID: u.PodUID, Address: u.Address,
			CreationTime: metav1.NewTime(u.Since), TerminationReason: u.Leaving, DepartureReason: u.Gone, DepartureTime: value.FromTime(u.GoneSince),
			OverdueTime: value.FromTime(u.Overdue),
		}
		if u.Returns {
			unit.TerminationReason = v1alpha1.UnitReturns
		}
		if u.Handles {
			unit.Handlers = v1alpha1.HandlersPresent
		}
		kept.Units = append(kept.Units, unit)
	}
	for _, g := range s.Grants {
		kept.Grants = append(kept.Grants, v1alpha1.Grant{
			Endpoint: g.Endpoint, Secret: g.Secret, Consent: consent(g.Refused), Key: g.Key, Version: g.Version, Revision: int64(g.Revision),
		})
	}
	if record.Copied {
		kept.StaleCopy = v1alpha1.StaleCopyPresent
	}
	if r := s.Restarts; len(r.Versions)+len(r.Times)+len(r.Copied) > 0 {
		kept.Restarts = &v1alpha1.Restarts{Versions: maps.Clone(r.Versions), Copied: maps.Clone(r.Copied)}
		for _, t := range s.Restarts.Times {
			kept.Restarts.Times = append(kept.Restarts.Times, metav1.NewTime(t))
		}
	}
	for _, e := range s.Ends {
		kept.Ends = append(kept.Ends, v1alpha1.RecentEnd{
			Relation: e.Relation, Namespace: e.Namespace, Time: metav1.NewTime(e.Time), Reason: e.Reason,
		})
	}
	a.State = kept
}

// SetApplication writes the rest of the domain's state into the status, after KeepApplication. The relations
// API writes the leader and the reported statuses, which stay (SAFETY.md D11).
func SetApplication(a *v1alpha1.RelatedApplication, s relation.ApplicationState, now time.Time) {
	shown := v1alpha1.RelatedApplicationStatus{
		ObservedGeneration: a.Generation,
		Sources:            s.Sources,
		Leader:             a.Status.Leader,
		Reports:            reports(a),
		Workload:           a.Status.Workload,
		EndsOwed:           value.FromInt(s.EndsOwed),
		Conditions:         value.SetConditions(a.Status.Conditions, s.Conditions, a.Generation, now),
	}
	for _, e := range s.Endpoints {
		shown.Endpoints = append(shown.Endpoints, v1alpha1.Endpoint{
			Name: e.Name, Role: v1alpha1.Role(e.Role), Interface: e.Interface,
			Version: value.FromInt(e.Version), Necessity: necessity(e.Optional), Limit: value.FromInt(e.Limit),
		})
	}
	for _, o := range s.LeftOut {
		shown.Exclusions = append(shown.Exclusions, v1alpha1.Exclusion{Object: o.Object, Reason: o.Reason, Message: o.Message, Pods: o.Pods})
	}
	for _, w := range s.Waiting {
		shown.Waits = append(shown.Waits, v1alpha1.Wait{
			Endpoint: w.Endpoint, Necessity: necessity(w.Optional), Reason: w.Reason, Message: w.Message,
		})
	}
	living := int64(0)
	shown.LivingUnits = &living
	for _, u := range s.Units {
		if u.Gone == "" {
			living++
		}
	}
	a.Status = shown
}

// reports returns what living units report of themselves: it ends with the unit's pod.
func reports(a *v1alpha1.RelatedApplication) []v1alpha1.Report {
	return slices.DeleteFunc(slices.Clone(a.Status.Reports), func(r v1alpha1.Report) bool {
		return !slices.ContainsFunc(a.State.Units, func(u v1alpha1.Unit) bool { return u.PodUID == r.PodUID && u.DepartureReason == "" })
	})
}

func necessity(optional bool) v1alpha1.Necessity {
	if optional {
		return v1alpha1.Optional
	}
	return v1alpha1.Required
}

// ToGrants returns the grants of an application.
func ToGrants(a *v1alpha1.RelatedApplication) ([]relation.Grant, error) {
	var all []relation.Grant
	for _, g := range a.State.Grants {
		revision, err := value.Int(g.Revision)
		if err != nil {
			return nil, fmt.Errorf("cannot read what endpoint %s grants: %w", g.Endpoint, err)
		}
		all = append(all, relation.Grant{
			Endpoint: g.Endpoint, Secret: g.Secret, Key: g.Key, Version: g.Version, Revision: revision, Refused: g.Consent != v1alpha1.ConsentGiven,
		})
	}
	return all, nil
}

func consent(refused bool) v1alpha1.Consent {
	if refused {
		return v1alpha1.ConsentMissing
	}
	return v1alpha1.ConsentGiven
}
