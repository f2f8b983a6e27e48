// Package rendering finds in rendered objects what the API server would refuse, or take
// for something else, and what a change of objects cannot do in place (FLEET.md C3).
//
// What must not come in: how objects are rendered, where their values come from, what
// runs in a cluster.
package rendering
