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

// Identity is the pod that a token names.
type Identity struct {
	Namespace string
	Account   string
	Pod       string
	UID       string
	// Expires is when the token ends.
	Expires time.Time
}

// Membership has a pod and its application, as the caches have them.
type Membership struct {
	// Lives reports that the pod exists and has not finished.
	Lives bool
	// Application is the name of its application; empty until that is certain.
	Application string
	// Ignored is why its workload takes part in nothing, with the cure: another has the
	// name of the application, for example (SAFETY.md A1). Empty if it takes part.
	Ignored string
}
