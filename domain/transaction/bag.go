package transaction

import (
	"fmt"
	"maps"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
)

// bag returns the next request that brings a change to its bag, which is known; nil where the bag has it. A leader of a later term is not overwritten (SAFETY.md P1).
func (d delivery) bag(change Change) (Request, error) {
	to := d.Bag(change)
	b := d.stored.bags[to.Name()]
	if b.Term > d.termOf(change) {
		return nil, ErrDeposed
	}
	after, differs, err := Write(b.Data, change.Set)
	if err != nil || !differs {
		return nil, err
	}
	w := WriteBag{
		Bag: to, Relation: change.Relation, Data: after, Secret: change.Secret, Term: d.termOf(change),
		Entry: history.Entry{
			Who: d.Application + "/" + d.number(), Cause: d.Cause, Transaction: d.ID, Term: d.termOf(change),
		},
	}
	if !change.Own {
		w.Writer = d.number()
	}
	return w, nil
}

// current returns an error if a commit replaces a value that its author has not seen: one that an earlier commit stored
// after the author had read the bag, as when the process that sent that commit got no answer. A value that is not
// stored may come from elsewhere, as an address does, and is not judged.
func (d delivery) current() error {
	for _, change := range d.Changes {
		data := d.stored.bags[d.Bag(change).Name()].Data
		for _, key := range slices.Sorted(maps.Keys(change.Seen)) {
			value, stored := data[key]
			if stored && value != change.Set[key] && databag.ValueVersion(value) != change.Seen[key] {
				return fmt.Errorf("cannot write %s in the databag of %s:%s: %w", key, d.Application, change.Endpoint, ErrChanged)
			}
		}
	}
	return nil
}
