package v1alpha1

import (
	"strconv"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// Holds reports whether a transaction is in the outbox.
func (b *Databag) Holds() bool { return b.Status.Transaction != nil }

// CommitToDomain returns the transaction in an outbox; an empty one if there is none.
func (b *Databag) CommitToDomain() transaction.Commit {
	unit, _ := strconv.Atoi(b.Spec.Unit) // the schema admits numbers only
	c := transaction.Commit{Namespace: b.Namespace, Application: b.Spec.Application, Unit: unit}
	t := b.Status.Transaction
	if t == nil {
		return c
	}
	c.ID, c.Term, c.Cause = t.ID, int(t.Term), t.Cause
	for _, change := range t.Changes {
		c.Changes = append(c.Changes, transaction.Change{
			Relation: change.Relation, Namespace: change.RelationNamespace, UID: change.RelationUID,
			Endpoint: change.Endpoint, Own: change.Unit != "", Set: change.Values, Secret: change.SecretKeys,
		})
		c.Term = max(c.Term, int(change.Term))
	}
	for _, w := range t.SecretWrites {
		c.Secrets = append(c.Secrets, w.ToDomain())
	}
	return c
}

// SetCommit writes a transaction into an outbox.
func (b *Databag) SetCommit(c transaction.Commit) {
	t := &Transaction{ID: c.ID, Term: int64(c.Term), Cause: c.Cause}
	for _, change := range c.Changes {
		bag := c.Bag(change)
		stored := Change{
			Relation: change.Relation, RelationNamespace: bag.Home.Namespace, RelationUID: change.UID,
			Endpoint: change.Endpoint, Unit: bag.Unit, Values: change.Set, SecretKeys: change.Secret,
		}
		if !change.Own {
			stored.Term = int64(c.Term)
		}
		t.Changes = append(t.Changes, stored)
	}
	for _, w := range c.Secrets {
		t.SecretWrites = append(t.SecretWrites, ForWrite(w))
	}
	b.Status = DatabagStatus{Transaction: t}
}
