package tool

import (
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// Goal lists the applications and units that a unit can expect around it. Orders do not matter.
type Goal struct {
	// Units are those of the unit's own application, with itself.
	Units []Standing
	// Relations are those of each endpoint.
	Relations []EndpointGoal
}

// GoalOf returns the goal that follows from a snapshot. A relation that ends has no goal, and a suspended one has no
// units until it goes on.
func GoalOf(s conversation.Snapshot) Goal {
	goal := Goal{Units: []Standing{{Name: s.Unit.String(), Status: string(status.Active)}}}
	for _, r := range s.Relations {
		related := []Standing{{Name: r.Remote, Status: "joined"}}
		switch r.Life {
		case conversation.Ending:
			continue
		case conversation.Suspended:
			related[0].Status = "suspended"
		case conversation.Alive:
			for _, u := range r.Units {
				related = append(related, Standing{Name: u.Unit.String(), Status: string(status.Active)})
			}
		}
		goal.Relations = append(goal.Relations, EndpointGoal{Endpoint: r.Endpoint, Related: related})
	}
	return goal
}

// EndpointGoal lists the applications and units that are or will be related by one endpoint. An endpoint may occur
// more than once.
type EndpointGoal struct {
	Endpoint string
	Related  []Standing
}

// Standing is how one unit or application is, since when. Without a time it is
// not known since when.
type Standing struct {
	// Name is an application's or a unit's.
	Name   string
	Status string
	Since  time.Time
}
