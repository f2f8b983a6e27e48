package simulation

import (
	"cmp"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// Status returns how the unit says it is, or its application and all its units.
func (t *toolContext) Status(ofApplication bool) (tool.Report, error) {
	u, known := t.world.unitOf(t.agent)
	if !known {
		return tool.Report{}, refused(conversation.NotYet, "cannot tell the status: the unit has no number yet", "try again in a moment")
	}
	if !ofApplication {
		return report(u.Workload), nil
	}
	if err := t.mayLead(); err != nil {
		return tool.Report{}, err
	}
	state := t.world.records[t.agent.application].State
	whole := report(relation.Says(state))
	for _, u := range state.Units {
		if u.Gone == "" {
			unit := conversation.Unit{Application: t.agent.application, Number: u.Number}
			whole.Units = append(whole.Units, tool.UnitReport{Unit: unit, Report: report(u.Workload)})
		}
	}
	return whole, nil
}

func report(info status.Info) tool.Report {
	return tool.Report{State: cmp.Or(info.State, status.Unknown), Message: info.Message}
}

// mayLead refuses who does not lead in the term of the call.
func (t *toolContext) mayLead() error {
	if err := t.begin(); err != nil {
		return err
	}
	term := cmp.Or(int(t.transaction.Term()), t.agent.lease.term)
	if !t.world.leaders[t.agent.application].MayWrite(t.agent.podUID, term, t.world.now) {
		return refused(conversation.Forbidden, "cannot speak for "+t.agent.application+": the unit is not its application's leader", "only the leader may")
	}
	return nil
}

// SetStatus stores how the unit or the application is, at once.
func (t *toolContext) SetStatus(ofApplication bool, info status.Info) error {
	u, known := t.world.unitOf(t.agent)
	if !known || !t.world.reaches(t.agent) {
		return refused(conversation.NotYet, "cannot reach the controller", "try again")
	}
	record := t.world.records[t.agent.application]
	info.Since = t.world.now
	if !ofApplication {
		record.State.Units = changed(record.State.Units, u.PodUID, func(u *application.Unit) { u.Workload = info })
	} else if err := t.mayLead(); err != nil {
		return err
	} else {
		record.State.Workload = info
	}
	t.world.records[t.agent.application] = record
	return nil
}

// SetSide stores how the application is in a relation, at once.
func (t *toolContext) SetSide(uid string, info status.Info) error {
	if err := t.mayLead(); err != nil {
		return err
	}
	for name, r := range t.world.relations {
		if r.UID != uid {
			continue
		}
		info.Since = t.world.now
		if r.Requirer.Application == t.agent.application {
			r.State.RequirerStatus = info
		} else {
			r.State.ProviderStatus = info
		}
		t.world.relations[name] = r
		return nil
	}
	return refused(conversation.Gone, "cannot say how it is: the relation has gone", "relation-ids lists those that are there")
}

// tellFailure notes what a unit's handlers fail at, as often as an agent says so;
// the zero failure for nothing.
func (w *world) tellFailure(a *agent, f status.Failure) {
	u, known := w.unitOf(a)
	if !known || !w.reaches(a) || f.Fails() && !status.Tells(f.Attempts) || !f.Fails() && !u.Failing.Fails() {
		return
	}
	if f.Fails() {
		f = f.Bounded().Follows(u.Failing, w.now)
	}
	record := w.records[a.application]
	record.State.Units = changed(record.State.Units, a.podUID, func(u *application.Unit) { u.Failing = f })
	w.records[a.application] = record
}

// changed returns units with that of a pod changed.
func changed(units []application.Unit, podUID string, change func(*application.Unit)) []application.Unit {
	units = slices.Clone(units)
	for i := range units {
		if units[i].PodUID == podUID {
			change(&units[i])
		}
	}
	return units
}
