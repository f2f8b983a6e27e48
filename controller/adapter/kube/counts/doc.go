// Package counts keeps the count of relations of each namespace above the ids that agents and replicas know, also where
// the store was restored to an earlier one (TRUST.md T3).
//
// What must not come in: a decision about relations, and which of them gets an id (domain/negotiation).
package counts
