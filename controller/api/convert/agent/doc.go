// Package agent maps the messages between agents and the relations controller to the domain and back.
// A function To… reads a message, For… makes one.
//
// What must not come in: a decision, and anything of Kubernetes: agents link this package.
package agent
