// Package people serves the people's API of stateful runs: logs, states, and decisions about what the controller must not
// decide (JOBS-DESIGN.md 13). The API server passes requests on, with the identity of their sender in headers.
//
// A decision is made by domain/job/workspace and stored by one conditional write, as the jobs API of keepers does.
// Each subresource is a permission of its own. Decisions, and reads of states, are recorded in the Journal.
//
// What must not come in: a rule about locks, how a sender is known, and what a cluster is asked for permissions.
package people
