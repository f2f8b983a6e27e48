// Package settletest has settled namespaces for the tests of the parts that read what settling has written.
//
// What must not come in: what only one test needs.
package settletest
