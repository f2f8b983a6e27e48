package conversation

import (
	"maps"
	"slices"
)

// After records that an event was handled, with the snapshot of that time: a bag that changed meanwhile is announced
// again (RELATIONS.md V3). Save the result before the next event; otherwise the same event is announced once more.
func (m Memory) After(e Event, s Snapshot) Memory {
	if e.Kind == Elected {
		m.Leader, m.Term = true, s.Term
		return m
	}
	if e.Secret != "" {
		return m.afterSecret(e, &s)
	}
	i := slices.IndexFunc(s.Relations, func(r Relation) bool { return r.UID == e.Relation })
	if i < 0 {
		return m
	}
	r := &s.Relations[i]
	m.Turn = turnOf(r)
	return m.introduced(r.Granted).with(r.UID, m.Relations[r.UID].after(e, r, &s))
}

// after is After for one relation.
func (t Told) after(e Event, r *Relation, s *Snapshot) Told {
	switch e.Kind {
	case Created:
		return Told{ID: r.ID, Stage: Open, Departed: t.Departed}.observe(r, s)
	case Joined:
		return t.afterJoined(e, r, s)
	case Changed:
		return t.afterChanged(e, r, s)
	case Departed:
		return t.afterDeparted(e)
	case Broken:
		t = Told{ID: r.ID, Stage: Closed, Departed: t.Departed}
		if e.Final {
			t.Stage, t.Acted = Over, s.Leader
		}
	case Elected, SecretChanged, SecretRotate, SecretExpired: // of no relation
	}
	return t
}

// afterJoined remembers a unit whose bag comes next, or all that joined together
// with what they said.
func (t Told) afterJoined(e Event, r *Relation, bags Bags) Told {
	if e.Unit != nil {
		return t.hearing(map[Unit]Seen{*e.Unit: {}})
	}
	if e.Difference.After != "" {
		t.Application = see(r.applicationBag(), bags)
	}
	all := make(map[Unit]Seen, len(e.Joined))
	for _, u := range e.Joined {
		bag, _ := r.bagOf(u)
		all[u] = see(bag, bags)
	}
	return t.hearing(all)
}

func (t Told) afterChanged(e Event, r *Relation, bags Bags) Told {
	if e.Unit == nil {
		t.Application = see(r.applicationBag(), bags)
		return t
	}
	bag, _ := r.bagOf(*e.Unit)
	return t.hearing(map[Unit]Seen{*e.Unit: see(bag, bags)})
}

// afterDeparted forgets a unit. Its departure was announced only if it did not happen on this unit's own side: a unit
// that leaves has not handled it for its application (SAFETY.md E15).
func (t Told) afterDeparted(e Event) Told {
	t.Members = maps.Clone(t.Members)
	delete(t.Members, *e.Unit)
	if *e.Departing != *e.Unit {
		return t
	}
	if at, told := slices.BinarySearchFunc(t.Departed, *e.Unit, Unit.Compare); !told {
		t.Departed = slices.Insert(slices.Clone(t.Departed), at, *e.Unit)
	}
	return t
}

// hearing remembers what units in scope have said.
func (t Told) hearing(units map[Unit]Seen) Told {
	members := make(map[Unit]Seen, len(t.Members)+len(units))
	maps.Copy(members, t.Members)
	maps.Copy(members, units)
	t.Members = members
	return t
}
