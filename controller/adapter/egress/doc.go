// Package egress opens connections to servers that may be fetched from, and to no others: a name is
// checked when it is resolved, and each redirect anew. Behind a proxy, which resolves names itself, a
// host is checked as it is written.
//
// What must not come in: which servers those are, which domain/destination decides.
package egress
