package tool

import (
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// Report is a state with its details. It may be a state that cannot be set, such as unknown.
type Report struct {
	State   status.State
	Message string
	// Data holds further details; may be nil.
	Data map[string]string
	// Units are the units of an application; empty in the report of a unit.
	Units []UnitReport
}

// UnitReport is the report of one unit.
type UnitReport struct {
	Unit conversation.Unit
	Report
}
