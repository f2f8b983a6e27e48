// Package arch holds the tests of the house itself: who may import whom, that
// whatever is built is also shipped and shown, and that what is shipped is safe to apply.
//
// What must not come in: tests of behaviour; they live beside what they test.
package arch
