// Package sandbox runs a part of the program in a child process: the program itself, started again,
// with limits of its own, without the files, descriptors and environment of its parent.
//
// What must not come in: what the child does.
package sandbox
