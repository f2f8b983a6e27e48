// Package shelf compares the Runs of chaos tests with the contents of the store.
package shelf
