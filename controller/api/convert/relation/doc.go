// Package relation maps the kinds of relations between the API and the domain. A function To… reads
// an object or a part of one, Set… writes into an object, For… makes one.
//
// What must not come in: a decision about a relation, a client, and the wire.
package relation
