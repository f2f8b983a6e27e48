// Package directory reads content from folders and files of the machine.
//
// What must not come in: an archive's format, a network.
package directory
