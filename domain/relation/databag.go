package relation

import "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"

// Databag is the data of an application, or of one of its units, on an endpoint.
type Databag struct {
	Application string
	Endpoint    string
	// Relation is the UID of the one relation that it is about; empty for data that needs no code and is for every
	// relation.
	Relation string
	// Unit is the number of the unit whose bag it is; empty for the application's.
	Unit string
	// PodUID is the pod of the unit that wrote it last; empty if that is not known.
	PodUID string
	Data   map[string]string
	// Home is the place of that relation's object, if that is another namespace.
	Home Home
}

// Home is where an object of another namespace is.
type Home struct{ Namespace, Name string }

// Name returns the name of the object that holds the bag.
func (b Databag) Name() string {
	if b.Relation == "" {
		return DatabagName(b.Application, b.Endpoint)
	}
	return objectName(b.Application+"-"+b.Endpoint, b.Application, b.Endpoint, b.Relation, b.Unit)
}

// Address returns the bag's address: its relation and its writer.
func (b Databag) Address() conversation.Address {
	owner := b.Application
	if b.Unit != "" {
		owner += "/" + b.Unit
	}
	return conversation.Address{Relation: b.Relation, Owner: owner}
}
