package simulation

import (
	"slices"
	"strconv"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// outbox holds a transaction of several bags that is committed and not yet where
// it belongs.
type outbox struct {
	application string
	commit      relation.Commit
	changes     []relation.Change
	cause       string
}

func refused(kind conversation.Refusal, message, cure string) error {
	return &conversation.Error{Kind: kind, Message: message, Cure: cure}
}

// lead has a pod lead its application, or go on leading, or resign.
func (s *store) lead(name string, unit int, podUID string, resign bool) conversation.Leader {
	before := s.leaders[name]
	after := before.Claim(unit, podUID, s.now)
	if resign {
		after = before.Resign(podUID, s.now)
	}
	s.leaders[name] = after
	return after
}

// commit stores a transaction: one bag by its write; several by one write to the
// unit's outbox, which the next write empties unless the process dies before.
func (s *store) commit(c relation.Commit, cause string, dies bool) error {
	if c.Leads() && !s.leaders[c.Application].MayWrite(c.PodUID, c.Term, s.now) {
		return refused(conversation.Forbidden, "cannot write the bag of "+c.Application+": the unit is not its application's leader", "only the leader may")
	}
	var changes []relation.Change
	for _, change := range c.Changes {
		if r, there := s.byUID(change.UID); !there || !r.Alive() {
			return refused(conversation.Gone, "cannot write: the relation on endpoint "+change.Endpoint+" has ended", "write into another relation")
		}
		_, differs, err := relation.Write(s.databags[c.Bag(change).Name()].Data, change.Set)
		if err != nil {
			return refused(conversation.Invalid, err.Error(), "write less")
		}
		if differs {
			changes = append(changes, change)
		}
	}
	if len(changes) == 1 {
		return s.write(c, changes[0], cause)
	}
	if len(changes) > 1 {
		s.outboxes[c.Outbox()] = outbox{c.Application, c, changes, cause}
		s.revision++
		if dies {
			return refused(conversation.NotYet, "cannot say whether it is stored: the controller has gone", "try again")
		}
		s.empty(c.Outbox())
	}
	return nil
}

// empty moves what is in an outbox to where it belongs. What a later leader has
// overtaken, or whose relation has gone, is dropped.
func (s *store) empty(name string) {
	o := s.outboxes[name]
	for _, change := range o.changes {
		_ = s.write(o.commit, change, o.cause) // dropped
	}
	delete(s.outboxes, name)
	s.revision++
}

// write brings one change to its bag, unless a leader of a later term wrote there
// (SAFETY.md P1), and notes it in the relation's record.
func (s *store) write(c relation.Commit, change relation.Change, cause string) error {
	b := c.Bag(change)
	if _, there := s.byUID(change.UID); !there {
		return refused(conversation.Gone, "cannot write: the relation has gone", "write into another relation")
	}
	stored := s.databags[b.Name()]
	term := 0
	if !change.Own {
		term = c.Term
	}
	if stored.term > term {
		return refused(conversation.Forbidden, "cannot write the bag of "+c.Application+": a later leader has", "only the leader may")
	}
	after, differs, err := relation.Write(stored.Data, change.Set)
	if err != nil || !differs {
		return err
	}
	who := conversation.Unit{Application: c.Application, Number: c.Unit}
	at := conversation.ForApplication(change.UID, c.Application)
	if change.Own {
		at = conversation.ForUnit(change.UID, who)
	}
	s.histories[change.UID] = s.histories[change.UID].Append(conversation.Entry{
		Time: s.now, Who: who.String(), Cause: cause, Change: conversation.Compare(at, stored.Data, after),
	}, func(string) bool { return false })
	b.Data = after
	s.databags[b.Name()] = bag{b, true, term}
	s.revision++
	return nil
}

// leave notes that a unit has handled the end of a relation.
func (s *store) leave(uid, unit string) {
	for name, r := range s.relations {
		if r.UID == uid && !r.Alive() && !slices.Contains(r.State.Left, unit) {
			r.State.Left = append(slices.Clip(r.State.Left), unit)
			s.relations[name] = r
		}
	}
}

// answer notes what a unit has to say of departures in a relation.
func (s *store) answer(uid string, unit conversation.Unit, answers []conversation.Answer) (differs bool) {
	for name, r := range s.relations {
		if r.UID == uid {
			r.State.Departures, differs = relation.Answer(r.State.Departures, unit, answers)
			s.relations[name] = r
		}
	}
	return differs
}

// replay returns what is wrong with the record of a relation: it must lead to the
// very bags that are stored.
func (s *store) replay(uid string) error {
	lines, err := conversation.EncodeEntries(s.histories[uid].Entries)
	if err != nil {
		return err
	}
	entries, err := conversation.ParseEntries(lines)
	if err != nil {
		return err
	}
	state, err := conversation.Replay(entries, s.histories[uid].Base)
	if err != nil {
		return err
	}
	return s.compareState(uid, state)
}

func (s *store) compareState(uid string, state conversation.State) error {
	want := conversation.State{}
	for _, b := range s.databags {
		owner := b.Application
		if b.Unit != "" {
			number, err := strconv.Atoi(b.Unit)
			if err != nil {
				return err
			}
			owner = conversation.Unit{Application: b.Application, Number: number}.String()
		}
		if b.Relation == uid && len(b.Data) > 0 {
			want[owner] = b.Data
		}
	}
	return sameState(want, state)
}
