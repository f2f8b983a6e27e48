package relation

import (
	"strconv"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// Holds reports whether an outbox has a transaction.
func Holds(b *v1alpha1.Databag) bool { return len(b.Status.Pending)+len(b.Status.PendingSecrets) > 0 }

// ToCommit returns the transaction in an outbox; an empty one if there is none.
func ToCommit(b *v1alpha1.Databag) transaction.Commit {
	unit, _ := strconv.Atoi(b.Spec.Unit) // the schema admits numbers only
	c := transaction.Commit{
		Namespace: b.Namespace, Application: b.Spec.Application, Unit: unit,
		ID: b.Status.Transaction, Term: int(b.Status.PendingTerm), Cause: b.Status.PendingCause,
	}
	for _, change := range b.Status.Pending {
		c.Changes = append(c.Changes, transaction.Change{
			Relation: change.Relation, Namespace: change.RelationNamespace, UID: change.RelationUID,
			Endpoint: change.Endpoint, Own: change.Unit != "", Set: change.Set, Secret: change.Secret,
		})
		c.Term = max(c.Term, int(change.Term))
	}
	for _, w := range b.Status.PendingSecrets {
		c.Secrets = append(c.Secrets, ToWrite(w))
	}
	return c
}

// SetCommit writes a transaction into an outbox.
func SetCommit(b *v1alpha1.Databag, c transaction.Commit) {
	b.Status = v1alpha1.DatabagStatus{Transaction: c.ID, PendingTerm: int64(c.Term), PendingCause: c.Cause}
	for _, change := range c.Changes {
		bag := c.Bag(change)
		pending := v1alpha1.Change{
			Relation: change.Relation, RelationNamespace: bag.Home.Namespace, RelationUID: change.UID,
			Endpoint: change.Endpoint, Unit: bag.Unit, Set: change.Set, Secret: change.Secret,
		}
		if !change.Own {
			pending.Term = int64(c.Term)
		}
		b.Status.Pending = append(b.Status.Pending, pending)
	}
	for _, w := range c.Secrets {
		b.Status.PendingSecrets = append(b.Status.PendingSecrets, ForWrite(w))
	}
}
