// Package job maps the kinds of stateful runs between the API and the domain. A function To… reads an object or a part
// of one, Set… writes into an object.
//
// What must not come in: a decision about a run, and a client.
package job
