package relation

import "gitlab.ilabt.imec.be/tengu/orcon/domain/application"

// Side is one side of a relation.
type Side struct {
	// Namespace, Name and UID are the Relation's.
	Namespace, Name, UID string
	Role                 application.Role
}
