package transaction

import (
	"cmp"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Stored holds an executor's knowledge of the objects of one commit: each as it last read or wrote it. The zero
// Stored knows none.
type Stored struct {
	// looks counts what was noted, so that the order is known.
	looks   int
	outbox  StoredOutbox
	bags    map[string]StoredBag
	secrets map[string]StoredSecret
	// posted is set once the executor has written its own commit to the outbox, overtaken where the outbox
	// was written meanwhile.
	posted, overtaken bool
	// wrote is set once the executor has written a bag of its commit.
	wrote bool
	// tried has the names of the objects whose write the API server would take, dropped is why the outbox's
	// transaction was dropped.
	tried   map[string]bool
	dropped string
}

// StoredOutbox is the object of a unit's transactions. It holds at most one.
type StoredOutbox struct {
	Commit
	// There is set where the object exists.
	There bool
	// Dropped is why its last transaction was dropped, until the unit knows it.
	Dropped string

	// at is when it was noted; 0 for an object that is not known.
	at int
}

// StoredBag is a databag's object.
type StoredBag struct {
	Data map[string]string
	// There is set where the object exists.
	There bool
	// Term is that of the leader that wrote an application's bag last.
	Term int
	// Writer is the number of the unit that wrote an application's bag last; empty for none.
	Writer string
	// Commits counts the changes of Data.
	Commits int

	at int
	// first is Commits when the bag was first noted.
	first int
}

// StoredSecret is a secret's object.
type StoredSecret struct {
	// There is set where the object exists.
	There bool
	secret.Secret

	// Term is that of the leader that wrote an application's secret last.
	Term int
	// Transaction identifies the one that wrote it last.
	Transaction string

	at int
	// first is Transaction when the secret was first noted.
	first string
}

// SetOutbox notes the outbox.
func (s *Stored) SetOutbox(o StoredOutbox) {
	s.looks++
	o.at = s.looks
	s.outbox = o
}

// LatestTerm returns the highest term in which what is known was written; 0 for none.
func (s *Stored) LatestTerm() int {
	latest := 0
	for _, b := range s.bags {
		latest = max(latest, b.Term)
	}
	for _, k := range s.secrets {
		latest = max(latest, k.Term)
	}
	return latest
}

// SetBag notes a bag; name is that of its object.
func (s *Stored) SetBag(name string, b StoredBag) {
	if s.bags == nil {
		s.bags = map[string]StoredBag{}
	}
	s.looks++
	b.at, b.first = s.looks, b.Commits
	if before, again := s.bags[name]; again {
		b.first = before.first
	}
	s.bags[name] = b
}

// Wrote notes a bag as the executor has written it.
func (s *Stored) Wrote(name string, b StoredBag) {
	s.wrote = true
	delete(s.bags, name)
	s.SetBag(name, b)
}

// WroteSecret notes the secret of an ID as the executor has written it.
func (s *Stored) WroteSecret(id string, k StoredSecret) {
	delete(s.secrets, id)
	s.SetSecret(id, k)
}

// SetSecret notes the secret of an ID.
func (s *Stored) SetSecret(id string, k StoredSecret) {
	if s.secrets == nil {
		s.secrets = map[string]StoredSecret{}
	}
	s.looks++
	k.at, k.first = s.looks, k.Transaction
	if before, again := s.secrets[id]; again {
		k.first = before.first
	}
	s.secrets[id] = k
}

// Posted notes that the executor has written its commit to the outbox.
func (s *Stored) Posted(c Commit) {
	s.SetOutbox(StoredOutbox{Commit: c, There: true})
	s.posted, s.wrote = true, false
}

// Emptied notes that the executor has emptied the outbox.
func (s *Stored) Emptied(r Empty) {
	s.dropped = cmp.Or(r.Dropped, s.outbox.Dropped)
	s.SetOutbox(StoredOutbox{There: true})
}

// Tried notes whether the API server would take a write: it does without an error.
func (s *Stored) Tried(r Try, err error) {
	if s.tried == nil {
		s.tried = map[string]bool{}
	}
	s.tried[objectOf(r.Write)] = err == nil
}

// objectOf returns the name of the object that a request writes.
func objectOf(r Request) string {
	switch r := r.(type) {
	case WriteBag:
		return r.Bag.Name()
	case WriteSecret:
		return r.ID
	default:
		return ""
	}
}

// Dropped returns why the executor has dropped the outbox's transaction; empty if it has not.
func (s *Stored) Dropped() string { return s.dropped }

// Held returns the transaction that the outbox holds; an empty one for none.
func (s *Stored) Held() Commit { return s.outbox.Commit }

// Forget makes the object of a request unknown: it is not as it was noted.
func (s *Stored) Forget(r Request) {
	switch r := r.(type) {
	case Post:
		s.overtaken = true
	case Empty:
		s.outbox.at = 0
	case WriteBag:
		s.forgetBag(r.Bag.Name())
	case WriteSecret:
		s.forgetSecret(r.ID)
	case Try:
		s.Forget(r.Write)
	case Each:
		for _, one := range r.Requests {
			s.Forget(one)
		}
	case ReadOutbox, ReadBag, ReadSecret: // a read is on no condition
	}
}

func (s *Stored) forgetBag(name string) {
	b := s.bags[name]
	b.at = 0
	s.bags[name] = b
}

func (s *Stored) forgetSecret(id string) {
	k := s.secrets[id]
	k.at = 0
	s.secrets[id] = k
}
