package transaction

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Next returns the next request that stores a prepared commit; nil when it is stored. The error is why it is not
// stored: ErrDeposed, ErrInvalid, a refusal, ErrBusy where another transaction of the unit came in between, so
// that it is not known which is the newer one, or ErrChanged.
//
// The outbox is delivered first: an older transaction of the unit that is still there would be written over this one.
// A unit whose last transaction was dropped gets the reason once, in place of its next commit (TRUST.md T10).
func Next(c Commit, s Stored, now time.Time) (Request, error) {
	if c.empty() {
		return nil, nil
	}
	d := delivery{c, s, now}
	part := d.unread()
	switch {
	case s.dropped != "":
		return nil, lost(s.dropped)
	case s.posted:
		return d.next()
	case s.overtaken:
		return nil, fmt.Errorf("cannot commit: %w", ErrBusy)
	case part != nil:
		return part, nil
	case s.outbox.at == 0:
		return ReadOutbox{}, nil
	case s.outbox.Dropped != "":
		return Empty{}, nil
	case !s.outbox.empty():
		request, err := delivery{s.outbox.Commit, s, now}.next()
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrBusy, err)
		}
		return request, err
	}
	if err := d.current(); err != nil {
		return nil, err
	}
	secrets := c.bySecret()
	switch {
	case len(secrets) == 0 && len(c.Changes) == 1:
		return d.bagAlone(c.Changes[0])
	case len(secrets) == 1 && len(c.Changes) == 0:
		return d.secretAlone(secrets[0])
	}
	return d.post()
}

// lost returns the error of the author of a transaction that was dropped.
func lost(why string) error {
	return &conversation.Error{
		Kind: conversation.Invalid, Message: "the unit's last transaction was dropped whole: " + why, Cure: "write it again",
	}
}

// Deliver returns the next request that delivers the transaction of an outbox; nil when there is none.
func Deliver(s Stored, now time.Time) (Request, error) {
	if s.outbox.at == 0 {
		return ReadOutbox{}, nil
	}
	return delivery{s.outbox.Commit, s, now}.next()
}

// delivery brings the parts of a commit to their objects.
type delivery struct {
	Commit

	stored Stored
	now    time.Time
}

// bagAlone returns the next request for a commit of one bag.
func (d delivery) bagAlone(change Change) (Request, error) {
	d.ID = "" // the record names transactions of several bags only
	request, err := d.bag(change)
	b := d.stored.bags[d.Bag(change).Name()]
	if err == nil && request != nil && b.Commits != b.first {
		err = ErrBusy
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write the databag of %s:%s: %w", d.Application, change.Endpoint, err)
	}
	return d.confirmed(request, b.at), nil
}

// secretAlone returns the next request for a commit of one secret.
func (d delivery) secretAlone(writes []secret.Write) (Request, error) {
	request, err := d.secret(writes)
	k := d.stored.secrets[writes[0].ID]
	if err == nil && request != nil && k.Transaction != k.first {
		err = fmt.Errorf("cannot write secret %s: %w", writes[0].ID, ErrBusy)
	}
	if err != nil {
		return nil, err
	}
	return d.confirmed(request, k.at), nil
}

// post returns the next request that commits a transaction of several objects. Each of its writes is tried before the
// commit point: afterwards it is part of every view, and can be neither refused nor taken back.
func (d delivery) post() (Request, error) {
	parts, err := d.parts()
	if err := cmp.Or(err, checkWhole(d.Commit)); err != nil {
		return nil, fmt.Errorf("cannot commit: %w", err)
	}
	var trials []Request
	for _, p := range parts {
		if !d.stored.tried[objectOf(p.write)] {
			trials = append(trials, Try{p.write})
		}
	}
	if len(trials) > 0 {
		return each(trials), nil
	}
	return Post{d.Commit}, nil
}

// next returns the next request that delivers a transaction, secrets first, and empties the outbox.
// A transaction is dropped whole if a leader of a later term has overtaken it, if a bag has no room for its part, or
// if a secret has gone: it would be in the way for ever. Its parts for relations that have gone are dropped alone.
//
// An object is written only if the outbox was read after it and still held the transaction. Otherwise
// another process may have delivered the transaction, and the unit may have written the object again:
// a late process would write the older transaction over the newer one.
//
// Bags are written at the same time, but for the first: if that has changed, nothing is written before it is known
// whether the transaction is dropped.
func (d delivery) next() (Request, error) {
	if d.stored.outbox.at == 0 {
		return ReadOutbox{}, nil
	}
	if d.stored.outbox.empty() || d.stored.outbox.ID != d.ID {
		return nil, nil
	}
	if unread := d.unread(); unread != nil {
		return unread, nil
	}
	parts, err := d.parts()
	switch {
	case errors.Is(err, ErrDeposed), errors.Is(err, ErrInvalid), conversation.RefusalOf(err) != "":
		return Empty{Dropped: err.Error()}, nil
	case err != nil:
		return nil, err
	case len(parts) == 0:
		return Empty{}, nil
	}
	if _, isBag := parts[0].write.(WriteBag); !isBag || !d.stored.wrote {
		return d.confirmed(parts[0].write, parts[0].at), nil
	}
	var bags []Request
	read := 0
	for _, p := range parts {
		bags, read = append(bags, p.write), max(read, p.at)
	}
	return d.confirmed(each(bags), read), nil
}

// unread returns the reading of secrets and bags that are not known; nil if all are. A secret is known to be absent
// only if it was read after the outbox: the transaction that makes it may have been delivered before.
func (d delivery) unread() Request {
	var all []Request
	known := map[string]bool{}
	for _, w := range d.Secrets {
		k := d.stored.secrets[w.ID]
		absent := !k.There && k.Transaction != d.ID && w.Kind != secret.Add
		if (k.at == 0 || absent && k.at < d.stored.outbox.at) && !known[w.ID] {
			all = append(all, ReadSecret{w.ID})
		}
		known[w.ID] = true
	}
	for _, change := range d.Changes {
		b := d.Bag(change)
		if d.stored.bags[b.Name()].at == 0 && !known[b.Name()] {
			all = append(all, ReadBag{b})
		}
		known[b.Name()] = true
	}
	if all == nil {
		return nil
	}
	return each(all)
}

// part is a write of a transaction, and when its object was noted.
type part struct {
	write Request
	at    int
}

// parts returns what is left to write of a transaction, secrets first; an error if one part cannot be written, so that
// none may be.
func (d delivery) parts() ([]part, error) {
	var all []part
	for _, writes := range d.bySecret() {
		request, err := d.secret(writes)
		removes := slices.ContainsFunc(writes, func(w secret.Write) bool { return w.Kind == secret.Remove })
		switch {
		case conversation.RefusalOf(err) == conversation.Gone && removes && d.delivered() && !d.stored.secrets[writes[0].ID].There:
			// Another process removed it as part of the same transaction.
		case err != nil:
			return nil, err
		case request != nil:
			all = append(all, part{request, d.stored.secrets[writes[0].ID].at})
		}
	}
	for _, change := range d.joined() {
		request, err := d.bag(change)
		if err != nil {
			return nil, fmt.Errorf("cannot write the databag of %s:%s: %w", d.Application, change.Endpoint, err)
		}
		if request != nil {
			all = append(all, part{request, d.stored.bags[d.Bag(change).Name()].at})
		}
	}
	return all, nil
}

// confirmed returns a request, or the reading of the outbox that has to come between it and the reading
// of the object that it writes.
func (d delivery) confirmed(r Request, read int) Request {
	if r != nil && read > d.stored.outbox.at {
		return ReadOutbox{}
	}
	return r
}
