package relation

import (
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// Record is the stored memory of an application.
type Record struct {
	Name string
	UID  string
	// Made is when its object was made, by a restore too.
	Made time.Time
	// Seen is set once its status was stored. One without was restored: its application may follow (TRUST.md T5).
	Seen bool
	// Copied is set before a copy of its data is stored, and until that is deleted.
	Copied bool
	State  ApplicationState
}

// Over returns when a unit that has gone may be forgotten: an hour later, and not before an hour after the record was
// restored, since a relation that remembers the unit may follow (SAFETY.md P2, TRUST.md T5).
func (r Record) Over(u application.Unit) time.Time {
	since := u.GoneSince
	if r.Made.After(since) {
		since = r.Made
	}
	return since.Add(application.Mourning)
}

// ApplicationState is the published state of an application.
type ApplicationState struct {
	// Endpoints in force, in order of declaration.
	Endpoints []application.Endpoint
	// Sources are the objects that it is made of, as kind/name.
	Sources []string
	// LeftOut lists objects that name the application but are ignored, each with the reason.
	LeftOut  []application.Fault
	Units    []application.Unit
	NextUnit int
	// Vacant is when its last unit with handlers was found gone, while it has no unit (SAFETY.md E15).
	Vacant   time.Time
	Restarts Restarts
	// Ends are the ends of the last ten minutes that were owed to its handlers as a provider.
	Ends []RecentEnd
	// EndsOwed is the number of ends that it has owed to its handlers for a while.
	EndsOwed int
	// Grants are the Secrets that its endpoints grant, in order of endpoint.
	Grants []Grant
	// Workload is how its leader says it is.
	Workload status.Info
	// Shortages are the budgets of writes that living units have used up.
	Shortages []status.Shortage
	// Waiting lists the endpoints that have no complete relation.
	Waiting    []Waiting
	Conditions []condition.Condition
}

// Says returns the status that an application reports: its leader's, or without one that of the unit that needs most
// care.
func Says(s ApplicationState) status.Info {
	if s.Workload.Said() {
		return s.Workload
	}
	var units []status.Info
	for _, u := range s.Units {
		units = append(units, u.Workload)
	}
	return status.Worst(units)
}

// RecentEnd is the end of a relation that an application provided.
type RecentEnd struct {
	// Relation is the relation's identity, Namespace its requirer's, and Time when the end was found.
	Relation, Namespace string
	Time                time.Time
	Reason              string
}

// Restarts is the stored memory of the rollouts of an application.
type Restarts struct {
	// Copied maps a workload, as Deployment/web, to the version of the annotations that its template got last.
	Copied map[string]string
	// Versions maps a relation's UID to the bag version its pods started with.
	Versions map[string]string
	// Times of the rollouts in the hour before the last one, oldest first, and it.
	Times []time.Time
}
