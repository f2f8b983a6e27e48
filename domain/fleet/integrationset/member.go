package integrationset

import "cmp"

// Key identifies a member: an integration in the namespace that a file of the data describes. The integration is
// "" for what the chart renders once for a namespace (FLEET-DESIGN.md 1).
type Key struct{ Integration, Namespace string }

// String returns the key for people.
func (k Key) String() string {
	return cmp.Or(k.Integration, "what the namespace shares") + " in " + k.Namespace
}

// Compare orders keys by namespace, and there by integration.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Namespace, other.Namespace), cmp.Compare(k.Integration, other.Integration))
}

// Wanted is a member as the data declare it.
type Wanted struct {
	Key
	// Digest identifies all that the member is stamped with.
	Digest string
	// Workloads counts the shards that run at least one replica.
	Workloads int
	// Wave is the wave that the member belongs to; the first is 0.
	Wave int
	// Own reports that the member is the integration as which the controller itself runs.
	Own bool
	// Waits is why the stamp of the member is unknown so far: it stays as it is; "" if the stamp is known.
	Waits string
}

// State describes the progress of a member towards its declaration.
type State string

// The states.
const (
	UnderWay State = "UnderWay"
	Ready    State = "Ready"
	Stalled  State = "Stalled"
)

// Standing is a member as the cluster has it.
type Standing struct {
	Key
	Digest    string
	Workloads int
	State     State
	// Why is the message of the member about its state.
	Why string
	// Name is that of its BundleDeployment, and Plan the digest of a plan of it that waits for approval; "" for none.
	Name, Plan string
	// Ending reports that it is being deleted already, and Own that the controller itself runs as this member.
	Ending, Own bool
	// Set is the other set that the member belongs to, and Claimed reports that this one wants it too; "" for a member
	// of this set.
	Set     string
	Claimed bool
	// Claims are the other sets that want a member of this set, in order.
	Claims []string
}
