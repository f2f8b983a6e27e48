package tool

import "time"

// Goal is what a unit can expect around it. Orders do not matter.
type Goal struct {
	// Units are those of the unit's own application, with itself.
	Units []Standing
	// Relations are those of each endpoint.
	Relations []EndpointGoal
}

// EndpointGoal is who is or will be related by one endpoint: applications and
// units. An endpoint may come more than once.
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
