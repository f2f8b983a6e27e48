package transaction

import (
	"errors"
	"fmt"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Next returns the next request that stores a prepared commit; nil when it is stored. The error says
// why it is not stored: ErrDeposed, ErrInvalid, a refusal of a secret, or ErrBusy where another
// transaction of the unit came in between, so that it is not known which is the newer one.
//
// First the outbox is delivered: an older transaction of the unit that is still there would be written
// over this one.
func Next(c Commit, s Stored, now time.Time) (Request, error) {
	if c.empty() {
		return nil, nil
	}
	d := delivery{c, s, now}
	part := d.unread()
	switch {
	case s.posted:
		return d.next()
	case s.overtaken:
		return nil, fmt.Errorf("cannot commit: %w", ErrBusy)
	case part != nil:
		return part, nil
	case s.outbox.at == 0:
		return ReadOutbox{}, nil
	case !s.outbox.empty():
		request, err := delivery{s.outbox.Commit, s, now}.next()
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrBusy, err)
		}
		return request, err
	}
	secrets := c.bySecret()
	switch {
	case len(secrets) == 0 && len(c.Changes) == 1:
		return d.bagAlone(c.Changes[0])
	case len(secrets) == 1 && len(c.Changes) == 0:
		return d.secretAlone(secrets[0])
	}
	return Post{c}, nil
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

// next returns the next request that delivers a transaction, secrets first, and empties the outbox.
// What a leader of a later term has overtaken, what its bag has no room for any more, or whose relation
// or secret has gone, is dropped: it would be in the way for ever. With a secret all bags are dropped,
// since they may refer to it.
//
// An object is written only if the outbox was read after it and still held the transaction. Otherwise
// another process may have delivered the transaction, and the unit may have written the object again:
// a late process would write the older transaction over the newer one.
func (d delivery) next() (Request, error) {
	if d.stored.outbox.at == 0 {
		return ReadOutbox{}, nil
	}
	if d.stored.outbox.empty() || d.stored.outbox.ID != d.ID {
		return nil, nil
	}
	if part := d.unread(); part != nil {
		return part, nil
	}
	request, whole, err := d.anySecret()
	if request == nil && err == nil && whole {
		request, err = d.anyBag()
	}
	if request == nil && err == nil {
		request = Empty{}
	}
	return request, err
}

// unread returns the reading of a secret or bag that is not known; nil if all are.
func (d delivery) unread() Request {
	for _, w := range d.Secrets {
		if d.stored.secrets[w.ID].at == 0 {
			return ReadSecret{w.ID}
		}
	}
	for _, change := range d.Changes {
		if b := d.Bag(change); d.stored.bags[b.Name()].at == 0 {
			return ReadBag{b}
		}
	}
	return nil
}

// anyBag returns the next request for the bags; nil when all are written or dropped.
func (d delivery) anyBag() (Request, error) {
	for _, change := range d.joined() {
		request, err := d.bag(change)
		switch {
		case errors.Is(err, ErrDeposed), errors.Is(err, ErrInvalid):
		case err != nil:
			return nil, err
		case request != nil:
			return d.confirmed(request, d.stored.bags[d.Bag(change).Name()].at), nil
		}
	}
	return nil, nil
}

// confirmed returns a request, or the reading of the outbox that has to come between it and the reading
// of the object that it writes.
func (d delivery) confirmed(r Request, read int) Request {
	if r != nil && read > d.stored.outbox.at {
		return ReadOutbox{}
	}
	return r
}
