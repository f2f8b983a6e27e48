package job

// Delay tells why a keeper has to try something again.
type Delay struct {
	Stage Stage
	// Why is the error of its last try; "" for no delay.
	Why string
}

// Stage is how far a keeper has come with a run.
type Stage string

// The stages.
const (
	// Preparing is before the program starts: the run is claimed, and what the program finds is fetched.
	Preparing Stage = "Preparing"
	// Carrying is while the program runs.
	Carrying Stage = "Carrying"
	// Concluding is after the end of the program. A keeper of an earlier version reports nothing before that.
	Concluding Stage = ""
)
