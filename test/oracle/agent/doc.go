// Package agent is what the agent made of snapshots before it used the domain's view of them, frozen: an
// oracle for files, variables, gate and memory over random snapshots. It goes with the next change of
// these rules.
//
// What must not come in: a change that is not the renaming of something that it imports.
package agent
