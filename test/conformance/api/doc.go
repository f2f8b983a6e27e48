// Package api is the jobs API of a world in memory, for the tests of executors that have no cluster: it admits runs, and
// finds what is stored of them.
//
// What must not come in: an executor.
package api
