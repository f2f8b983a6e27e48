package relation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// UnreadableRelation returns a Relation that cannot be read, with what of it is readable.
func UnreadableRelation(r *v1alpha1.Relation, readable relation.Relation, err error) relation.Unreadable {
	u := unreadable(relation.KindRelation, r.ObjectMeta, r.Status.Conditions, err)
	u.Relation = readable
	return u
}

// UnreadableRecord returns the record of an application that cannot be read.
func UnreadableRecord(a *v1alpha1.RelatedApplication, err error) relation.Unreadable {
	return unreadable(relation.KindRecord, a.ObjectMeta, a.Status.Conditions, err)
}

// UnreadableDatabag returns a databag that cannot be read, with the one that its spec names.
func UnreadableDatabag(b *v1alpha1.Databag, named relation.Databag, err error) relation.Unreadable {
	u := unreadable(relation.KindDatabag, b.ObjectMeta, b.Status.Conditions, err)
	u.Databag = named
	return u
}

// UnreadableSide returns a side that cannot be read, with what of it is readable.
func UnreadableSide(s *v1alpha1.RelationSide, readable relation.Side, err error) relation.Unreadable {
	u := unreadable(relation.KindSide, s.ObjectMeta, nil, err)
	u.Side = readable
	return u
}

func unreadable(kind string, o metav1.ObjectMeta, conditions []metav1.Condition, err error) relation.Unreadable {
	return relation.Unreadable{
		Kind: kind, Namespace: o.Namespace, Name: o.Name, UID: string(o.UID), Problem: err.Error(), Conditions: value.Conditions(conditions),
	}
}
