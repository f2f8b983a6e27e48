package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Unreadable returns a Relation that cannot be read, as far as it can.
func (r *Relation) Unreadable(readable relation.Relation, err error) relation.Unreadable {
	u := unreadable(relation.KindRelation, r.ObjectMeta, r.Status.Conditions, err)
	u.Relation = readable
	return u
}

// Unreadable returns the record of an application that cannot be read.
func (a *RelatedApplication) Unreadable(err error) relation.Unreadable {
	return unreadable(relation.KindRecord, a.ObjectMeta, a.Status.Conditions, err)
}

// Unreadable returns a databag that cannot be read, with the one that its spec names.
func (b *Databag) Unreadable(named relation.Databag, err error) relation.Unreadable {
	u := unreadable(relation.KindDatabag, b.ObjectMeta, b.Status.Conditions, err)
	u.Databag = named
	return u
}

func unreadable(kind string, o metav1.ObjectMeta, conditions []metav1.Condition, err error) relation.Unreadable {
	return relation.Unreadable{
		Kind: kind, Namespace: o.Namespace, Name: o.Name, UID: string(o.UID), Problem: err.Error(), Conditions: toConditions(conditions),
	}
}

// SetConditions writes conditions into the status, and nothing else.
func (r *Relation) SetConditions(all []condition.Condition, now time.Time) {
	r.Status.Conditions = setConditions(r.Status.Conditions, all, r.Generation, now)
}

// SetConditions writes conditions into the status, and nothing else.
func (a *RelatedApplication) SetConditions(all []condition.Condition, now time.Time) {
	a.Status.Conditions = setConditions(a.Status.Conditions, all, a.Generation, now)
}

// SetConditions writes conditions into the status, and nothing else.
func (b *Databag) SetConditions(all []condition.Condition, now time.Time) {
	b.Status.Conditions = setConditions(b.Status.Conditions, all, b.Generation, now)
}
