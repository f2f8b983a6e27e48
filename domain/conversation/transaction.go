package conversation

import (
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Transaction collects the writes of a handler while it handles one event: only the handler reads them. When it
// succeeds, Commit returns the changes to store; when it fails, the transaction is dropped, and nothing has happened
// (RELATIONS.md E11).
type Transaction struct {
	snapshot Snapshot
	// bags are the contents of those that were written, as they will be.
	bags map[Address]Bag
	// late allows that a relation has ended, and that the one in about is suspended.
	late  bool
	about string
}

// Begin starts a transaction on what its author is shown.
func Begin(s Snapshot) *Transaction {
	return &Transaction{snapshot: s, bags: map[Address]Bag{}}
}

// BeginEvent starts the transaction of an event's handler. The event may come late, when the relation has ended
// (RELATIONS.md E2, E4): writes there are dropped then, since they have no reader, as in Juju. If they were refused,
// the event could never be handled.
func BeginEvent(s Snapshot) *Transaction {
	t := Begin(s)
	t.late = true
	return t
}

// About notes the event that is handled. The events of a suspension are handled while it lasts, or nothing else would be:
// what the other side has written reads as empty, since its consent is withdrawn, and writes are dropped, since the handlers
// of created run again when the relation is resumed.
func (t *Transaction) About(e Event) *Transaction {
	t.about = e.Relation
	return t
}

// Drops reports whether what is said in a relation is dropped.
func (t *Transaction) Drops(relation string) bool {
	return t.late && t.is(relation, Ending) || t.Suspends(relation)
}

// Suspends reports whether an event of the suspension of a relation is handled. What is taken back in it is not dropped: the
// relation may be resumed.
func (t *Transaction) Suspends(relation string) bool {
	return t.late && relation == t.about && t.is(relation, Suspended)
}

// is reports whether a relation is known to be in that part of its life.
func (t *Transaction) is(relation string, life Life) bool {
	return slices.ContainsFunc(t.snapshot.Relations, func(r Relation) bool { return r.UID == relation && r.Life == life })
}

// OfHandler reports whether a handler writes it, which has acted on what it read.
func (t *Transaction) OfHandler() bool { return t.late }

// Term is that of the leadership in which the handler began, or which it has learnt of first: who has lost it
// meanwhile must not write by a later one, since others have led in between
// (SAFETY.md P1).
func (t *Transaction) Term() int64 { return t.snapshot.Term }

// LedIn notes that the author has learnt that its unit leads, with what a leader is shown now: from then on it reads and
// writes as the leader of the term that it has learnt of first. Its application's databags, which it could not read before,
// are those of now. What another leader has written since the snapshot is not replaced: each change has the versions of the
// values that the author acted on (DECISIONS.md 363).
func (t *Transaction) LedIn(now Snapshot) {
	if t.snapshot.Leader || !now.Leader {
		return
	}
	s := &t.snapshot
	s.Leader, s.Term = true, now.Term
	s.Relations, s.Bags = slices.Clone(s.Relations), either{s.Bags, now.Bags}
	for i := range s.Relations {
		r := &s.Relations[i]
		at := slices.IndexFunc(now.Relations, func(n Relation) bool { return n.UID == r.UID })
		if at >= 0 && r.Role != application.Peer {
			r.OwnApplicationBag, r.OwnApplicationWriter = now.Relations[at].OwnApplicationBag, now.Relations[at].OwnApplicationWriter
		}
	}
}

// Leads reports whether its author reads and writes as a leader.
func (t *Transaction) Leads() bool { return t.snapshot.Leader }

// Read returns a copy of a bag as this handler sees it: as Read does, and with
// its own writes.
func (t *Transaction) Read(at Address) (Bag, error) {
	if bag, written := t.bags[at]; written {
		return copied(bag), nil
	}
	bag, err := Read(t.snapshot, at)
	if RefusalOf(err) == NotYet && t.Suspends(at.Relation) {
		return Bag{}, nil
	}
	return bag, err
}

// Set writes keys of the unit's own bag of a relation, or with app of its
// application's. An empty value deletes the key (RELATIONS.md P3). What is over a
// limit is refused whole, with the size and the limit (P6), unless it shrinks: then none
// of the keys is written. An error is an *Error.
func (t *Transaction) Set(relation string, app bool, values Bag) error {
	at := ForUnit(relation, t.snapshot.Unit)
	if app {
		at = ForApplication(relation, t.snapshot.Unit.Application)
	}
	if err := MayWrite(t.snapshot, at); err != nil {
		if kind := RefusalOf(err); (kind == Gone || kind == NotYet) && t.Drops(relation) {
			return nil
		}
		return err
	}
	bag, err := t.Read(at)
	if err != nil {
		return err
	}
	before := copied(bag)
	for _, k := range slices.Sorted(maps.Keys(values)) {
		if err := setKey(bag, k, values[k]); err != nil {
			return err
		}
	}
	if p := databag.CheckChange(before, bag); p != nil {
		return &Error{Kind: Invalid, Message: "cannot write the databag of " + at.Owner + ": " + p.Reason, Cure: p.Cure}
	}
	t.bags[at] = bag
	return nil
}

func setKey(bag Bag, key, value string) error {
	if key == "" {
		return &Error{Kind: Invalid, Message: "cannot write a value without a key", Cure: "write key=value"}
	}
	if p := databag.CheckPair(key, value); p != nil {
		return &Error{Kind: Invalid, Message: "cannot write key " + p.Key + ": " + p.Reason, Cure: p.Cure}
	}
	if value == "" {
		delete(bag, key)
	} else {
		bag[key] = value
	}
	return nil
}

// Commit returns what the handler changed, in order of the relations' turns and
// of whose bag it is. A bag that ends as it was is not among it.
func (t *Transaction) Commit() []Change {
	var changes []Change
	for at, bag := range t.bags {
		was, err := Read(t.snapshot, at)
		if c := Compare(at, was, bag); err == nil && c.Before != c.After {
			changes = append(changes, c)
		}
	}
	turns := make(map[string]Turn, len(t.snapshot.Relations))
	for i := range t.snapshot.Relations {
		turns[t.snapshot.Relations[i].UID] = turnOf(&t.snapshot.Relations[i])
	}
	slices.SortFunc(changes, func(a, b Change) int {
		if by := turns[a.Relation].compare(turns[b.Relation]); by != 0 {
			return by
		}
		return strings.Compare(a.Owner, b.Owner)
	})
	return changes
}
