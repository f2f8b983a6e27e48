// Package shim is the first process of a template's container: it starts the entrypoint when the keeper lets it,
// passes signals on, keeps the output, and exits with the template's exit code when the keeper has an outcome
// (JOBS.md J7 and J9, JOBS-DESIGN.md 1).
//
// What must not come in: state, credentials, a network. The template's code has the same user.
package shim
