package run

import (
	"errors"
	"fmt"
	"maps"

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

// errTurn is the reason of a Run that lets others go first.
var errTurn = errors.New("other runs have waited longer for what -maxRuns and -maxRunsPerNamespace of the job controller permit: " +
	"it waits for its turn")

// Turn returns why a Run of a namespace lets others go first, those of the namespaces in longer, since they have waited longer and
// there is not room for all; nil if there is. Runs that are under way are counted in all, and by namespace.
func (m Most) Turn(namespace string, longer []string, all int, by map[string]int) error {
	taken := map[string]int{}
	maps.Copy(taken, by)
	for _, other := range longer {
		if m.Room(all, taken[other]) == nil {
			taken[other]++
			all++
		}
	}
	if m.Room(all, taken[namespace]) != nil {
		return errTurn
	}
	return nil
}
