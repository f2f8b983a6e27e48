package tool

import "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"

// State is how a unit or an application is, in one of Juju's words.
type State string

// The states that a workload may set.
const (
	Maintenance State = "maintenance"
	Blocked     State = "blocked"
	Waiting     State = "waiting"
	Active      State = "active"
)

// states lists them in Juju's order.
func states() []string {
	return []string{string(Maintenance), string(Blocked), string(Waiting), string(Active)}
}

// Report is a state with what goes with it. It may be a state that only Orcon
// sets, such as unknown.
type Report struct {
	State   State
	Message string
	// Data is what else is known; may be nil.
	Data map[string]string
	// Units are the units of an application; empty in the report of a unit.
	Units []UnitReport
}

// UnitReport is the report of one unit.
type UnitReport struct {
	Unit conversation.Unit
	Report
}
