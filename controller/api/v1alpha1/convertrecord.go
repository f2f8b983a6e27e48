package v1alpha1

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Commit writes a content into the status, and into its record who said it and why,
// without the values of secret fields. Both go by one write, so that a bag and its
// record cannot differ.
func (b *Databag) Commit(said conversation.Entry, data map[string]string, secret []string, now time.Time) {
	said.Address, said.Time = b.Address(), now
	b.setRecord(b.RecordToDomain().Append(said, b.Status.Data, data, secret))
	b.Status.ObservedGeneration = b.Generation
	b.Status.Data = maps.Clone(data)
	b.Status.Version = databag.Version(data)
	stored := condition.Settled("Stored", "the content is stored")
	b.Status.Conditions = setConditions(b.Status.Conditions, stored, b.Generation, now)
}

// Address returns whose bag it is, and of which relation.
func (b *Databag) Address() conversation.Address {
	owner := b.Spec.Application
	if b.Spec.Unit != "" {
		owner += "/" + b.Spec.Unit
	}
	return conversation.Address{Relation: b.Spec.Relation, Owner: owner}
}

// RecordToDomain returns the record as the domain knows it.
func (b *Databag) RecordToDomain() conversation.Record {
	r := conversation.Record{Commits: b.Status.Commits}
	at, dropped := b.Address(), b.Status.Commits-int64(len(b.Status.Record))
	for i, e := range b.Status.Record {
		r.Entries = append(r.Entries, conversation.Entry{
			Sequence: dropped + int64(i) + 1, Time: e.Time.UTC(), Who: e.Who, Cause: e.Cause, Transaction: e.Transaction, Term: int(e.Term), Address: at,
			Added: e.Added, Changed: e.Changed, Removed: e.Removed, TooLong: e.TooLong, Before: e.Before, After: e.After,
		})
	}
	return r
}

// setRecord writes the record into the status.
func (b *Databag) setRecord(r conversation.Record) {
	b.Status.Commits, b.Status.Record = r.Commits, nil
	for _, e := range r.Entries {
		b.Status.Record = append(b.Status.Record, RecordEntry{
			Time: metav1.NewMicroTime(e.Time), Who: e.Who, Cause: e.Cause, Transaction: e.Transaction, Term: int64(e.Term),
			Added: e.Added, Changed: e.Changed, Removed: e.Removed, TooLong: e.TooLong, Before: e.Before, After: e.After,
		})
	}
}
