package bundle

import (
	"fmt"
	"slices"
)

// KindChange decides when a workload is deleted whose name another kind of workload gets.
type KindChange string

// The ways to change the kind of a workload.
const (
	// DeleteLast deletes it as all that left the bundle: once the revision has succeeded.
	DeleteLast KindChange = "DeleteLast"
	// DeleteFirst deletes it, and waits for the end of its pods, before the other one is created.
	DeleteFirst KindChange = "DeleteFirst"
)

// workloads are the kinds whose pods run until their object is deleted.
//
//nolint:gochecknoglobals // a table
var workloads = []string{"CronJob.batch", "DaemonSet.apps", "Deployment.apps", "DeploymentConfig.apps.openshift.io", "StatefulSet.apps"}

// predecessor returns the workload that ends before an item is created, and why it does; zero for none. It is one that the
// deployment made, that left the bundle, and that the plan deletes without a person.
func (d *drafting) predecessor(item Item) (predecessor ID, why string) {
	if d.KindChange != DeleteFirst || !slices.Contains(workloads, item.ID.kind()) {
		return ID{}, ""
	}
	for _, e := range left(d.Record.Inventory, d.Sequence) {
		if e.ID.Name == item.ID.Name && e.ID.Namespace == item.ID.Namespace && slices.Contains(workloads, e.ID.kind()) && d.ends(e.ID) {
			return e.ID, d.says(e.ID)
		}
	}
	return ID{}, ""
}

// Predecessors are the workloads that end before others are created.
func (p Plan) Predecessors() []ID {
	var all []ID
	for _, a := range p.Actions {
		if a.Follows != (ID{}) {
			all = append(all, a.Follows)
		}
	}
	return all
}

// says describes the end of a predecessor.
func (d *drafting) says(predecessor ID) string {
	text := predecessor.String() + " is deleted first"
	if len(claimTemplates(d.Live[predecessor].Object)) > 0 {
		text += "; its claims stay"
	}
	return text
}

// ends reports whether the plan deletes an object that left the bundle.
func (d *drafting) ends(id ID) bool {
	situation, _ := d.Live[id].Situation(d.Owner)
	return situation == Ours && d.Record.Originals.of(id) == nil && d.prunes(id) != PruneNever && (d.Back == 0 || !d.confirms(id))
}

// precedes reports whether the predecessor of an item is still there, and deletes it.
func (s *stepping) precedes(item Item, predecessor ID) bool {
	l := s.live[predecessor]
	situation, _ := l.Situation(s.Owner)
	switch {
	case predecessor == (ID{}) || situation != Ours:
		return false
	case l.leaving():
		s.patience(item, l, fmt.Sprintf("waits for the end of %s, which %s", predecessor, l.ending()))
	default:
		s.next.Delete = append(s.next.Delete, deletion(predecessor, l))
	}
	return true
}
