package status

import "time"

// Shortage is a budget of writes that a unit has used up.
type Shortage struct {
	// Unit is the number of the unit, and Budget whose budget it is: Unit, Application, Namespace or Cluster.
	Unit   int
	Budget string
	// Since is when a write was put off last, to the minute.
	Since time.Time
}
