package chaos

import "time"

// The faults of stateful runs, and of what carries them out. The courier has those of their messages.
const (
	KeeperKilled    Kind = "keeper killed for good"
	KeeperRestarted Kind = "keeper killed and started again"
	ContainerKilled Kind = "container killed"
	ProgramKilled   Kind = "program killed"
	PodErased       Kind = "pod deleted without grace"
	EngineKilled    Kind = "container engine killed"
	NodeRebooted    Kind = "node rebooted"

	ControllerFrozen Kind = "controller frozen"
	StoreDown        Kind = "store down"
	StoreSlow        Kind = "store slow"
	StoreFull        Kind = "store full"
	APIServerSlow    Kind = "API server slow"
)

// Moment is a step in the life of a run.
type Moment int

// The moments, in their order.
const (
	Created Moment = iota
	Made
	Restored
	Begun
	Working
	Ended
	Concluded
	moments
)

// Moment returns the moment of a run at which a step comes, and how long after it.
func (s Step) Moment() (Moment, time.Duration) {
	return Moment(s.Target % int(moments)), time.Duration(s.Hold * float64(200*time.Millisecond))
}

// Outage returns how long a step lasts, of the longest time.
func (s Step) Outage(longest time.Duration) time.Duration {
	return time.Duration((0.2 + 0.8*s.Hold) * float64(longest))
}
