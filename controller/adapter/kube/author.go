package kube

import (
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// author is whose transaction is stored.
type author struct {
	secret.Unit

	namespace string
	// transaction names it; a secret that has it has been written.
	transaction string
	// term is the leader's.
	term int64
	// cause is why, for the record.
	cause string
}

// authorOf returns whose transaction an outbox holds. That the unit led where it had
// to was proved when it was committed.
func authorOf(outbox *v1alpha1.Databag) author {
	return author{
		Unit:      secret.Unit{Application: outbox.Spec.Application, Number: outbox.Spec.Unit, Leads: true},
		namespace: outbox.Namespace, transaction: outbox.Status.Transaction, term: outbox.Status.PendingTerm, cause: outbox.Status.PendingCause,
	}
}

// said is what the record says of a change of the author's.
func (a author) said(change v1alpha1.Change) conversation.Entry {
	return conversation.Entry{Who: a.Application + "/" + a.Number, Cause: a.cause, Transaction: a.transaction, Term: int(change.Term)}
}

// bag returns the bag that a change is about, without content.
func (a author) bag(change v1alpha1.Change) relation.Databag {
	return relation.Databag{Application: a.Application, Endpoint: change.Endpoint, Relation: change.RelationUID, Unit: change.Unit}
}
