package node

import "time"

// Offer is an attempt that one node may carry out. No other node sees it.
type Offer struct {
	// Node is the name of the node, Key the one by which it was adopted.
	Node, Key string
	Since     time.Time
	// Accepted reports that the node has noted the attempt, and Withdrawn that it is to stop and forget it.
	Accepted, Withdrawn bool
}

// To reports whether the offer is to an agent: a node that has joined anew is another one.
func (o Offer) To(name, key string) bool { return o.Node == name && o.Key == key }

// Silent reports whether an attempt that nothing has claimed may be given to another node: the node did not accept it in
// time, or does not call any more.
func (o Offer) Silent(seen, now time.Time) bool {
	if !o.Accepted {
		return now.Sub(o.Since) >= OfferLife
	}
	return now.Sub(seen) >= Lost && now.Sub(o.Since) >= Lost
}

// Forgotten reports whether an offer that is withdrawn may be deleted although its node has not confirmed that: it cannot
// call any more.
func (o Offer) Forgotten(n Node, exists bool) bool {
	return o.Withdrawn && (!exists || n.known(o.Key) != nil)
}
