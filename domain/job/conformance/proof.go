package conformance

// Proof is a report, and what it is about. The zero value is none.
type Proof struct {
	// Subject names the runner and the engine that were tested.
	Subject string `json:"subject"`
	Report  Report `json:"report"`
	// Obstacle tells why there is no report; "" where there is one, or where none has been tried.
	Obstacle string `json:"-"`
}

// Differences returns how the report differs from the golden one.
func (p Proof) Differences() []Difference { return Differences(Golden(), p.Report) }
