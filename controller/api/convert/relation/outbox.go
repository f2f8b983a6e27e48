package relation

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// ForOutbox returns the spec of the object in which the transactions of a unit are committed.
func ForOutbox(application, unit string) v1alpha1.DatabagSpec {
	return v1alpha1.DatabagSpec{Purpose: v1alpha1.PurposeOutbox, Application: application, Unit: unit}
}

// ToOutbox returns the outbox that an object is.
func ToOutbox(b *v1alpha1.Databag) relation.Outbox {
	o := relation.Outbox{Application: b.Spec.Application, Unit: b.Spec.Unit, PodUID: b.State.PodUID, UID: string(b.UID), Holds: Holds(b)}
	if c := meta.FindStatusCondition(b.Status.Conditions, string(condition.Stalled)); c != nil && c.Reason == string(condition.CommitRefused) {
		o.Refusal = c.Message
	}
	return o
}

// SetRefusal writes into the status of an outbox why its transaction is not delivered, or was dropped.
func SetRefusal(b *v1alpha1.Databag, why string, now time.Time) {
	b.Status.ObservedGeneration = b.Generation
	b.Status.Conditions = value.SetConditions(b.Status.Conditions, condition.Stuck(string(condition.CommitRefused), why), b.Generation, now)
}

// Holds reports whether an outbox has a transaction that changes something.
func Holds(b *v1alpha1.Databag) bool {
	t := b.State.Transaction
	return t != nil && len(t.Changes)+len(t.SecretWrites) > 0
}

// ToCommit returns the transaction in an outbox; an empty one if there is none.
func ToCommit(b *v1alpha1.Databag) transaction.Commit {
	unit, _ := strconv.Atoi(b.Spec.Unit) // the schema admits numbers only
	c := transaction.Commit{Namespace: b.Namespace, Application: b.Spec.Application, Unit: unit, PodUID: b.State.PodUID}
	t := b.State.Transaction
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
		c.Secrets = append(c.Secrets, ToWrite(w))
	}
	return c
}

// SetCommit writes a transaction into an outbox.
func SetCommit(b *v1alpha1.Databag, c transaction.Commit) {
	t := &v1alpha1.Transaction{ID: c.ID, Term: int64(c.Term), Cause: c.Cause}
	for _, change := range c.Changes {
		bag := c.Bag(change)
		stored := v1alpha1.Change{
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
	b.State = v1alpha1.DatabagState{Transaction: t, PodUID: c.PodUID}
}
