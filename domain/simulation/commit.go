package simulation

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

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

// commit stores a transaction. With dies the controller dies once it has written one to an outbox.
func (s *store) commit(c transaction.Commit, dies bool) error {
	for _, change := range c.Changes {
		if r, there := s.byUID(change.UID); !there || !r.Alive() {
			return refused(conversation.Gone, "cannot write: the relation on endpoint "+change.Endpoint+" has ended", "write into another relation")
		}
	}
	leads := s.leaders[c.Application].MayWrite(c.PodUID, c.Term, s.now)
	if leads {
		for _, unit := range c.Earlier(s.records[c.Application].State.Units) {
			s.deliver(relation.OutboxName(c.Application, strconv.Itoa(unit)))
		}
	}
	e := executor{store: s, outbox: c.Outbox(), dies: dies}
	for _, change := range c.Changes {
		e.carryOut(transaction.ReadBag{Bag: c.Bag(change)})
	}
	e.carryOut(transaction.ReadOutbox{})
	c, err := c.Prepare(e.stored, leads, schema.Catalog{}, schema.Off)
	if err == nil {
		err = e.finish(func() (transaction.Request, error) { return transaction.Next(c, e.stored, s.now) })
	}
	switch {
	case errors.Is(err, transaction.ErrDeposed):
		return refused(conversation.Forbidden, "cannot write the databag of "+c.Application+": "+transaction.ErrDeposed.Error(), "only the leader may")
	case errors.Is(err, transaction.ErrInvalid):
		return refused(conversation.Invalid, err.Error(), "write less")
	}
	return err
}

// deliver delivers the transaction of an outbox.
func (s *store) deliver(outbox string) {
	e := executor{store: s, outbox: outbox}
	_ = e.finish(func() (transaction.Request, error) { return transaction.Deliver(e.stored, s.now) }) // it refuses nothing
}

// executor carries out the requests of one transaction. Nothing comes in between, so no write conflicts.
type executor struct {
	*store

	outbox string
	stored transaction.Stored
	// dies is set where the process dies at the commit point.
	dies bool
}

// finish carries out requests until there is none, or the process dies.
func (e *executor) finish(next func() (transaction.Request, error)) error {
	for {
		request, err := next()
		if err != nil || request == nil {
			return err
		}
		for _, one := range transaction.AllOf(request) {
			e.carryOut(one)
		}
		if _, posted := request.(transaction.Post); posted && e.dies {
			return refused(conversation.NotYet, "cannot say whether it is stored: the controller has gone", "try again")
		}
	}
}

// carryOut carries out a request and notes its result. A simulation has no secrets.
func (e *executor) carryOut(request transaction.Request) {
	switch r := request.(type) {
	case transaction.ReadOutbox:
		e.stored.SetOutbox(transaction.StoredOutbox{Commit: e.outboxes[e.outbox]})
	case transaction.Try:
		e.stored.Tried(r, nil) // it refuses nothing
	case transaction.Post:
		e.outboxes[e.outbox] = r.Commit
		e.revision++
		e.stored.Posted(r.Commit)
	case transaction.Empty:
		delete(e.outboxes, e.outbox)
		e.revision++
		e.stored.Emptied(r)
	case transaction.ReadBag:
		b := e.databags[r.Bag.Name()]
		e.stored.SetBag(r.Bag.Name(), transaction.StoredBag{Data: b.Data, Term: b.term})
	case transaction.WriteBag:
		e.write(r)
		e.stored.Wrote(r.Bag.Name(), transaction.StoredBag{Data: r.Data, Term: r.Term})
	}
}

// write stores the content of a bag with its record. The bag of a relation that has gone, with its sides, is not
// made.
func (s *store) write(w transaction.WriteBag) {
	_, there := s.byUID(w.Bag.Relation)
	if !there && !slices.ContainsFunc(values(s.sides), func(side relation.Side) bool { return side.Relation == w.Bag.Relation }) {
		return
	}
	before := s.databags[w.Bag.Name()]
	s.revision++
	// Nothing takes time here, but what is written later is later in the record.
	w.Entry.Time, w.Entry.Address = s.now.Add(time.Duration(s.revision)*time.Microsecond), w.Bag.Address()
	w.Bag.Data = w.Data
	s.databags[w.Bag.Name()] = bag{w.Bag, w.Term, cmp.Or(w.Writer, before.writer), before.record.Append(w.Entry, before.Data, w.Data, nil)}
}

// leave notes what a unit answers for the end of a relation.
func (s *store) leave(uid string, unit conversation.Unit, handled bool) {
	for name, side := range s.sides {
		if side.Relation == uid && side.Teardown != nil && side.Here().Application == unit.Application {
			t := *side.Teardown
			t.Debt = t.Answered(unit, handled)
			side.Teardown = &t
			s.sides[name] = side
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
