package agent

import (
	"cmp"
	"strconv"
)

// Relation is a relation as the agent knows it.
type Relation struct {
	// ID names the relation in its namespace and is never used again.
	ID int64
	// UID is the relation's identity.
	UID string
	// Endpoint is the local endpoint, Role its part: requires where none is said.
	Endpoint, Role string
	// Interface is what both sides agreed on, Version its version or 0.
	Interface string
	Version   int64
	// Application, Namespace and RemoteEndpoint name the other side.
	Application, Namespace, RemoteEndpoint string
	// Bag is the other side's application bag: the last one that was not empty.
	Bag map[string]string
	// Granted is what the other side grants by reference.
	Granted Granted
	// Units are how many units of the other side are in scope; of a peer relation
	// of the application itself.
	Units int
	// Complete tells that what a start gate waits for is there; Reason and
	// Message say why it is not.
	Complete        bool
	Reason, Message string
	// Held tells that a declaration has vanished (SAFETY.md L5).
	Held bool
	// Suspended tells that another namespace's consent was withdrawn: it may come back
	// (RELATIONS.md M6).
	Suspended bool
	// Ended is for ever (RELATIONS.md L1).
	Ended bool
	// Present tells that the latest snapshot had it. What is absent is unknown,
	// not ended (SAFETY.md E13).
	Present bool
}

// key identifies the relation among those of one pod.
func (r Relation) key() string {
	return cmp.Or(r.UID, r.Endpoint+":"+strconv.FormatInt(r.ID, 10))
}

// projected tells whether the relation has something to put into files. A
// directory with a type and no data would look like a binding that is broken.
func (r Relation) projected() bool { return !r.Ended && (len(r.Bag) > 0 || r.Complete) }

// become returns what is known of the relation after now was heard of it. A bag
// that was emptied stays as it was: a provider that is gone takes no running
// pod's data with it. What is granted no more goes (SAFETY.md S1). What has ended stays
// so.
func (r Relation) become(now Relation) Relation {
	if len(now.Bag) == 0 {
		now.Bag = r.Bag
	}
	if now.Suspended {
		now.Granted = r.Granted // a consent to the relation that may come back
	}
	now.Ended = now.Ended || r.Ended
	return now
}
