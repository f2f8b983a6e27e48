package relation

import "gitlab.ilabt.imec.be/tengu/orcon/domain/application"

// SideRef refers to one side of a Relation.
type SideRef struct {
	// Namespace, Name and UID are the Relation's.
	Namespace, Name, UID string
	Role                 application.Role
}
