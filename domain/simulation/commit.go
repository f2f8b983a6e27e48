package simulation

import (
	"slices"
	"strconv"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
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
func (s *store) lead(name string, unit int, podUID string, resign bool) leadership.Leader {
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
		return refused(conversation.Forbidden, "cannot write the databag of "+c.Application+": the unit is not its application's leader",
			"only the leader may")
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
		return refused(conversation.Forbidden, "cannot write the databag of "+c.Application+": a later leader has", "only the leader may")
	}
	after, differs, err := relation.Write(stored.Data, change.Set)
	if err != nil || !differs {
		return err
	}
	b.Data = after
	who := conversation.Unit{Application: c.Application, Number: c.Unit}
	s.revision++
	// Nothing takes time here, but what is written later is later in the record.
	e := conversation.Entry{Time: s.now.Add(time.Duration(s.revision) * time.Microsecond), Who: who.String(), Cause: cause, Term: term, Address: b.Address()}
	s.databags[b.Name()] = bag{b, true, term, strconv.Itoa(c.Unit), stored.record.Append(e, stored.Data, after, nil)}
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

// close notes that a unit has handled the suspension of a relation.
func (s *store) close(uid, unit string) {
	for name, r := range s.relations {
		if r.UID == uid && !r.State.SuspendedSince.IsZero() && !slices.Contains(r.State.Closed, unit) {
			r.State.Closed = append(slices.Clip(r.State.Closed), unit)
			s.relations[name] = r
		}
	}
}

// answer notes what a unit has to say of departures in a relation.
func (s *store) answer(uid string, unit conversation.Unit, answers []conversation.Answer) (differs bool) {
	for name, r := range s.relations {
		if r.UID == uid {
			r.State.Departures, differs = relation.Answered(r.State.Departures, unit, answers)
			s.relations[name] = r
		}
	}
	return differs
}
