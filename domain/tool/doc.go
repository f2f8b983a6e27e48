// Package tool implements the tools in a workload (RELATIONS.md, "Tools in the workload"): Juju's names, syntax,
// formats, defaults and exit codes.
//
// The program in the container only forwards a Call, with the files that Needs
// names; the agent answers it with Run and a Context of its own. What is or
// may be a value of a bag or of a secret is never repeated in an error; names are.
//
// What must not come in: sockets, files, the environment of a process and the
// clock; and the rules of who may read or write what, which are
// domain/conversation's and hold behind the ports of Context.
package tool
