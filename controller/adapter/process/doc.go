// Package process knows the other processes of a pod whose containers share
// them, as /proc shows them to a container without privileges.
//
// What must not come in: when a signal is sent, and which; that is decided by the
// caller.
package process
