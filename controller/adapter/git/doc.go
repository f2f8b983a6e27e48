// Package git fetches the files of a commit, a branch or a tag of a repository, over HTTP and SSH, into memory,
// without a program or a folder of the machine. It also reads revisions of a repository on the machine, and changes
// nothing in it.
//
// What must not come in: a work tree, a history that is kept.
package git
