package run

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// Most bounds how many Runs hold a lock at the same time; 0 sets no limit.
type Most struct {
	// Installation counts those of all namespaces, Namespace those of one.
	Installation, Namespace int
}

// Room returns why no further Run may get a lock now, if so many have one: in all, and in the namespace. A Run that a
// person must decide about is not counted: it would block others for as long as that takes.
func (m Most) Room(all, namespace int) error {
	switch {
	case m.Namespace > 0 && namespace >= m.Namespace:
		return fmt.Errorf("%s under way, as many as -maxRunsPerNamespace of the job controller permits: it waits for one of them",
			job.Counted(namespace, "run of the namespace is", "runs of the namespace are"))
	case m.Installation > 0 && all >= m.Installation:
		return fmt.Errorf("%s under way, as many as -maxRuns of the job controller permits: it waits for one of them",
			job.Counted(all, "run is", "runs are"))
	}
	return nil
}
