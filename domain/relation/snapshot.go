package relation

import (
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/stale"
)

// Snapshot is one namespace as last seen, and the time, whole seconds in UTC.
type Snapshot struct {
	Namespace string
	// UID is the namespace's own.
	UID string
	Now time.Time
	// Seed is random. The identities of new relations are derived from it.
	Seed string
	// LastRelation is the highest id that a relation of the namespace was given.
	LastRelation int
	// Ending is set while the namespace is being deleted.
	Ending bool
	// OptedOut is set where the namespace has not opted in. Its objects are not
	// looked at then, so that their units are as they were (SAFETY.md E13).
	OptedOut     bool
	Applications []application.Application
	// Strays are pods whose workload is unknown. They are still units of an application that
	// had them.
	Strays []application.Pod
	// Ended has the bare pods that have ended, by the application that each was.
	Ended map[string]string
	// Orphans are declarations that belong to no application.
	Orphans   []application.Fault
	Relations []Relation
	// Sides hold what the namespace keeps of relations.
	Sides    []Side
	Databags []Databag
	Records  []Record
	// Offers are the namespace's own, Namespaces the UIDs of those that they name, and
	// Consumers the relations of other namespaces whose provider is in this one.
	Offers     []Offer
	Namespaces map[string]string
	Consumers  []Relation
	// Abroad lists other namespaces that relations of this one may concern.
	Abroad   []Abroad
	Outboxes []Outbox
	// Unreadable are the objects that exist and could not be read: the namespace's own, the
	// Relations of others whose provider is in it, and what its relations depend on elsewhere.
	Unreadable []Unreadable
	// Interfaces are the known ones, and Schema is the namespace's policy for them; unset is schema.Warn.
	Interfaces schema.Catalog
	Schema     schema.Mode
	// Secrets are those that the applications grant or granted, as far as the
	// controller may see them; LookAgain is when they are to be looked at again, since
	// a change is not reported. Account is the controller's own, as namespace:name.
	Secrets   []secret.Source
	LookAgain time.Time
	Account   string
	// SecretOwners are the owners of the secrets that applications of the namespace and their units have made.
	SecretOwners []secret.Owner
	// Copies are those that are stored, of applications that allow one or whose record has one.
	Copies []StoredCopy
}

// StoredCopy is the copy of an application's data as it is stored.
type StoredCopy struct {
	Application string
	// Stored is false if there is none.
	Stored bool
	stale.Copy
	// Refused is why the controller does not read or write it, for CopyRetry; empty if it does.
	Refused string
}

// CopyRetry is the time after which a copy is read and written again that was refused.
const CopyRetry = time.Minute

// Abroad holds those objects of another namespace that relations of this one may concern. Objects that it does not
// offer are ignored, so that their existence stays unknown (SAFETY.md M7); but both sides of a relation that was open
// receive its end.
type Abroad struct {
	Namespace string
	// UID is the namespace's; empty if it is not seen.
	UID string
	// OptedIn reports that the namespace is related: offers of one that has opted out, or is ending, are withdrawn.
	OptedIn bool
	// Ending is set while it is being deleted.
	Ending   bool
	Offers   []Offer
	Sides    []Side
	Records  []Record
	Databags []Databag
}
