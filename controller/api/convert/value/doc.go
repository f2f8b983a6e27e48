// Package value maps what all kinds share between the API and the domain: conditions, times and
// numbers.
//
// What must not come in: a kind, and a decision.
package value
