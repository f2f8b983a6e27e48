package transaction

import "gitlab.ilabt.imec.be/tengu/orcon/domain/history"

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
