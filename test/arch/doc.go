// Package arch holds the tests of the house itself: who may import whom, that
// whatever is built is also shipped and shown, that what is shipped is safe to
// apply, and that each rule of docs/rules that holds has a test.
//
// What must not come in: tests of behaviour; they live beside what they test.
package arch
