// Package shelf judges Runs, each of which had a fault, by what the store has of them.
package shelf
