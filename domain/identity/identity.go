// Package identity holds what a token proves of the pod that presents it, and what is known of that pod.
//
// What must not come in: how a token is reviewed, and what a pod may do.
package identity

import (
	"errors"
	"time"
)

// ErrToken reports that a token proves nothing.
var ErrToken = errors.New("the token is not valid for this API")

// ErrBusy reports that too many tokens are being reviewed.
var ErrBusy = errors.New("too many tokens of unknown pods are being reviewed: try again")

// Identity is the pod that a token names.
type Identity struct {
	Namespace string
	Account   string
	Pod       string
	UID       string
	// Node is the node that the token is bound to; empty for none.
	Node string
	// Expires is when the token ends.
	Expires time.Time
}

// Pod is a pod as the caches have it.
type Pod struct {
	UID, Account, Node string
	// Finished reports that its containers have ended for good.
	Finished bool
}

// Names reports whether the identity is that pod's: its UID, its service account and, if the token is bound to a node,
// its node are the same, and it lives.
func (id Identity) Names(p Pod) bool {
	return id.UID == p.UID && id.Account == p.Account && (id.Node == "" || id.Node == p.Node) && !p.Finished
}

// Same reports whether two tokens name one pod, with the same service account.
func (id Identity) Same(other Identity) bool {
	return id.UID == other.UID && id.Account == other.Account
}

// Membership has a pod and its application, as the caches have them.
type Membership struct {
	// Lives reports that the pod exists and has not finished.
	Lives bool
	// Deadline is when the grace period of a pod that ends is over; zero while it does not end.
	Deadline time.Time
	// Application is the name of its application; empty until that is certain.
	Application string
	// Ignored is why its workload is ignored, with the cure: another has the name of the application, for example
	// (SAFETY.md A1). Empty if it is not.
	Ignored string
}
