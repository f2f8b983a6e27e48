package job

// Delay tells why a keeper has to try something again.
type Delay struct {
	Stage Stage
	// Why is the error of its last try; "" for no delay.
	Why string
}

// Stage tells how far a keeper has come with a run.
type Stage string

// The stages.
const (
	// Preparing lasts until the program starts: the run is claimed, and the files of the program are fetched.
	Preparing Stage = "Preparing"
	// Carrying lasts as long as the program runs.
	Carrying Stage = "Carrying"
	// Concluding begins with the end of the program. A keeper of an earlier version reports delays of this stage alone.
	Concluding Stage = ""
)
