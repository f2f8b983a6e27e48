package transaction

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// now is when everything happens.
func now() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// errRefused is the answer to a write that the API server does not take.
var errRefused = errors.New("a policy refuses it")

// errConflict is the answer to a write on a condition that does not hold.
var errConflict = errors.New("the object has been modified")

// object is what the store keeps of an object of any kind, with its revision.
type object[T any] struct {
	revision int
	content  T
}

// store is an API: it writes on the condition that the revision is the one that the writer has seen.
type store struct {
	revision int
	outboxes map[string]object[Commit]
	bags     map[string]object[StoredBag]
	secrets  map[string]object[StoredSecret]
	// points are the transactions in order of their commit points.
	points []Commit
	// refused names the object whose writes are refused; empty for none.
	refused string
}

func newStore() *store {
	return &store{outboxes: map[string]object[Commit]{}, bags: map[string]object[StoredBag]{}, secrets: map[string]object[StoredSecret]{}}
}

// put writes an object on the condition that it has a revision; 0 for one that does not exist.
func put[T any](s *store, all map[string]object[T], name string, seen int, content T) (revision int, err error) {
	if all[name].revision != seen {
		return 0, errConflict
	}
	s.revision++
	all[name] = object[T]{s.revision, content}
	return s.revision, nil
}

// process is a process that stores one transaction, or delivers the outbox of a unit of application db.
type process struct {
	store  *store
	commit Commit
	stored Stored
	seen   map[string]int
	next   func(Stored) (Request, error)
	// queue has the requests that are under way, and picks chooses which of them ends next; nil for the first.
	queue []Request
	picks func(n int) int
	// before is the commit that follows when an earlier transaction is delivered; nil for none.
	before *Commit
	// did are the requests, done is set when there is none left, and err is why it gave up.
	did  []string
	done bool
	err  error
}

// committer returns a process that stores a transaction of a unit that leads or not.
func (s *store) committer(c Commit, leads bool) *process {
	p := &process{store: s, commit: c, seen: map[string]int{}}
	for _, change := range c.Changes {
		p.err = errors.Join(p.err, p.carryOut(ReadBag{c.Bag(change)}))
	}
	if len(c.Changes) > 0 {
		p.err = errors.Join(p.err, p.carryOut(ReadOutbox{}))
	}
	prepared, err := c.Prepare(p.stored, leads, schema.Catalog{}, schema.Off)
	if err != nil {
		p.err, p.done = err, true
	}
	p.commit = prepared
	p.next = func(stored Stored) (Request, error) { return Next(prepared, stored, now()) }
	return p
}

// deliverer returns a process that delivers the outbox of a unit of application db.
func (s *store) deliverer(unit int) *process {
	return &process{
		store: s, commit: Commit{Application: "db", Unit: unit}, seen: map[string]int{},
		next: func(stored Stored) (Request, error) { return Deliver(stored, now()) },
	}
}

// author returns the commit that the process stores; one without ID delivers.
func (p *process) author() Commit {
	if p.before != nil {
		return *p.before
	}
	return p.commit
}

// step carries out the next request, or one of those that are under way.
func (p *process) step() {
	if len(p.queue) == 0 {
		request, err := p.next(p.stored)
		if err != nil || request == nil {
			p.err, p.done = err, true
			return
		}
		p.queue = slices.Clone(AllOf(request))
	}
	i := 0
	if p.picks != nil {
		i = p.picks(len(p.queue))
	}
	request := p.queue[i]
	p.queue = slices.Delete(p.queue, i, i+1)
	switch err := p.carryOut(request); {
	case errors.Is(err, errRefused):
		p.err, p.done = err, true
	case err != nil:
		p.stored.Forget(request)
	}
}

// about reports whether a request of that kind is next.
func (p *process) about(kind string) bool {
	request, err := p.next(p.stored)
	return err == nil && request != nil && fmt.Sprintf("%T", request) == "transaction."+kind
}

// finish carries out all requests.
func (p *process) finish() error {
	for range 200 {
		if p.done {
			return p.err
		}
		p.step()
	}
	return errors.New("there is no end of requests")
}

func (p *process) carryOut(request Request) error {
	s, outbox := p.store, p.commit.Outbox()
	p.did = append(p.did, fmt.Sprintf("%T", request)[len("transaction."):])
	switch r := request.(type) {
	case ReadOutbox:
		p.seen[outbox] = s.outboxes[outbox].revision
		p.stored.SetOutbox(StoredOutbox{Commit: s.outboxes[outbox].content})
	case Post:
		err := s.putOutbox(p, outbox, r.Commit)
		if err == nil {
			s.points = append(s.points, r.Commit)
			p.stored.Posted(r.Commit)
		}
		return err
	case Empty:
		err := s.putOutbox(p, outbox, Commit{})
		if err == nil {
			p.stored.Emptied(r)
		}
		return err
	case Try:
		return p.try(r)
	default:
		return p.carryOutPart(request)
	}
	return nil
}

// try judges a write on its condition.
func (p *process) try(r Try) error {
	name := objectOf(r.Write)
	if p.store.refused == name {
		return errRefused
	}
	if stored := max(p.store.bags[name].revision, p.store.secrets[name].revision); p.seen[name] != stored {
		return errConflict
	}
	p.stored.Tried(r, nil)
	return nil
}

func (s *store) putOutbox(p *process, name string, c Commit) error {
	revision, err := put(s, s.outboxes, name, p.seen[name], c)
	if err == nil {
		p.seen[name] = revision
	}
	return err
}

// carryOutPart carries out requests about bags and secrets.
func (p *process) carryOutPart(request Request) error {
	switch r := request.(type) {
	case ReadBag:
		name := r.Bag.Name()
		p.seen[name] = p.store.bags[name].revision
		p.stored.SetBag(name, p.store.bags[name].content)
	case WriteBag:
		b := StoredBag{Data: maps.Clone(r.Data), Term: r.Term, Commits: p.store.bags[r.Bag.Name()].content.Commits + 1}
		err := p.putBag(r.Bag, b)
		if err == nil {
			p.stored.Wrote(r.Bag.Name(), b)
			p.point(r.Entry.Transaction == "")
		}
		return err
	case ReadSecret:
		p.seen[r.ID] = p.store.secrets[r.ID].revision
		k := p.store.secrets[r.ID].content
		k.There = p.seen[r.ID] > 0 && !secret.IsTombstone(k.Secret)
		p.stored.SetSecret(r.ID, k)
	case WriteSecret:
		k := StoredSecret{There: !r.Secret.Ended(), Secret: r.Secret, Term: r.Term, Transaction: r.Transaction}
		err := p.putSecret(r.ID, k)
		if err == nil && r.Secret.Ended() && !secret.IsTombstone(r.Secret) {
			delete(p.store.secrets, r.ID)
			p.seen[r.ID] = 0
		}
		if err == nil {
			p.stored.WroteSecret(r.ID, k)
			p.point(!p.stored.posted && r.Transaction == p.commit.ID)
		}
		return err
	}
	return nil
}

// point notes the commit point of a transaction that needs no outbox.
func (p *process) point(alone bool) {
	if alone {
		p.store.points = append(p.store.points, p.commit)
	}
}

func (p *process) putBag(b relation.Databag, content StoredBag) error {
	revision, err := put(p.store, p.store.bags, b.Name(), p.seen[b.Name()], content)
	if err == nil {
		p.seen[b.Name()] = revision
	}
	return err
}

func (p *process) putSecret(id string, content StoredSecret) error {
	revision, err := put(p.store, p.store.secrets, id, p.seen[id], content)
	if err == nil {
		p.seen[id] = revision
	}
	return err
}
