// Package health judges whether an object of a cluster does what it is for, from the object alone
// (CONTENT.md H1–H3): rules for the built-in kinds, and one rule for all others, which weighs the
// evidence in their status. No cluster, no expressions and no clock come in: what a probe finds and
// what is known of the object's definition are arguments.
package health
