// Package revocation replaces Orcon's own authority at once (TRUST.md R6). A person revokes what Secret orcon-ca holds; the
// rotator in the controller reads that, makes another authority, and publishes its bundle.
//
// What must not come in: keys, and how certificates are made.
package revocation
