// Package commits stores in a cluster what units write: transactions, leases, and statuses for people. It
// reads from the API server, not from caches: what is decided here must be so when it is written.
//
// What must not come in: the order of a transaction's requests (domain/transaction).
package commits
