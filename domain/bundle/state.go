package bundle

// State is how far a revision has come.
type State string

// The states. A revision is Proposed, then Active, then Succeeded or Failed; what a newer
// one has replaced is Superseded.
const (
	StateProposed   State = "Proposed"
	StateActive     State = "Active"
	StateSucceeded  State = "Succeeded"
	StateFailed     State = "Failed"
	StateSuperseded State = "Superseded"
)
