// Package oci fetches the files of images, and of other artifacts, from registries:
// checked by their digests, with credentials, by way of mirrors.
//
// What must not come in: an archive's format, a folder of the machine, a program that
// knows passwords.
package oci
