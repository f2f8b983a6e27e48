// Package web fetches archives over HTTP: with a limit to their size and to the time
// that passes without a byte, going on where a connection broke, and checked by their
// checksum.
//
// What must not come in: an archive's format, a folder of the machine.
package web
