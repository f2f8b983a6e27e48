package relation

import "gitlab.ilabt.imec.be/tengu/orcon/domain/condition"

// The kinds of objects that may be unreadable.
const (
	KindRelation = "Relation"
	KindRecord   = "RelatedApplication"
	KindDatabag  = "Databag"
	KindSide     = "RelationSide"
)

// Unreadable is an object that exists and cannot be read. It is unknown, not absent.
type Unreadable struct {
	Kind, Namespace, Name, UID string
	// Problem is why it cannot be read.
	Problem string
	// Relation is a Relation as far as it can be read, and Side a RelationSide; the id is 0 if that cannot. Databag is
	// the one that the spec of a Databag names.
	Relation Relation
	Side     Side
	Databag  Databag
	// Conditions are those that it has; a RelationSide has none.
	Conditions []condition.Condition
}
