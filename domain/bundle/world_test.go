package bundle_test

import (
	"maps"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// world is a cluster, what is stored about one deployment, and a clock. What its
// objects do stands in them: after how many ticks they are healthy (ready), or that they
// never are (fail), and what cannot be changed (fixed).
type world struct {
	tick    int
	objects map[bundle.ID]thing
	uids    int
	// record and plans are what is stored; all else a killed process forgets.
	record bundle.Record
	plans  map[int]bundle.Plan
	// wish is the bundle as its author last wrote it.
	wish   []bundle.Object
	policy bundle.ConflictPolicy
	// kindChange is the deployment's; with DeleteFirst, two workloads of a name fail the test.
	kindChange bundle.KindChange
	// kills are after how many writes each next process is killed; then none is.
	kills  []int
	writes int
	// ran counts how often each Job was made.
	ran map[bundle.ID]int
	// expired are the Jobs that their TTL has removed.
	expired map[bundle.ID]bool
}

// thing is a live object, and since which tick it is as it is.
type thing struct {
	object bundle.Object
	since  int
}

// failsAfter is after how many ticks what is broken says so: when all has been written
// that was at the same time, also by who was killed.
const failsAfter = 3

func newWorld() *world {
	return &world{objects: map[bundle.ID]thing{}, plans: map[int]bundle.Plan{}, ran: map[bundle.ID]int{}, expired: map[bundle.ID]bool{}}
}

// number reads a number of an object's spec.
func number(o bundle.Object, field string) int {
	n, _ := strconv.Atoi(o.Text("spec", field))
	return n
}

// seen reads from the cluster what a plan is about, as compared with a sequence.
func (w *world) seen(s bundle.Sequence) map[bundle.ID]bundle.Live {
	live := map[bundle.ID]bundle.Live{}
	for _, e := range w.record.Inventory {
		live[e.ID] = w.look(e.ID, nil)
	}
	for _, item := range s {
		live[item.ID] = w.look(item.ID, item.Object)
	}
	return live
}

func (w *world) look(id bundle.ID, wanted bundle.Object) bundle.Live {
	is, there := w.objects[id]
	if !there {
		return bundle.Live{}
	}
	l := bundle.Live{Object: is.object, Health: bundle.InProgress, Since: w.now(is.since)}
	end := ""
	switch fails := is.object.Text("spec", "fail") != ""; {
	case fails && w.tick-is.since >= failsAfter:
		l.Health, end = bundle.Broken, "Failed"
	case !fails && w.tick-is.since >= number(is.object, "ready"):
		l.Health, l.Serving, end = bundle.Ready, true, "Complete"
	}
	if id.Kind == "Job" && end != "" {
		l.Object = maps.Clone(is.object)
		l.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": end, "status": "True"}}}
	}
	if wanted == nil || id.Kind == "Job" {
		return l
	}
	l.Fields = []bundle.OriginalField{{Path: "spec", Value: is.object["spec"]}}
	if is.object.Text("spec", "fixed") != wanted.Text("spec", "fixed") {
		l.Immutable = "spec.fixed is immutable"
	}
	if by := is.object.Text("spec", "edited"); by != "" {
		l.Changes = []bundle.Change{{Path: "spec.edited", Before: by, Manager: "kubectl", Ours: is.object.Annotation(bundle.OwnerKey) == owner}}
	}
	return l
}

func (w *world) now(tick int) time.Time { return noon().Add(time.Duration(tick) * time.Second) }

// remove is the API server's answer to a deletion with preconditions.
func (w *world) remove(d bundle.Deletion) {
	is := w.objects[d.ID].object
	switch {
	case is.Text("metadata", "uid") != d.UID:
	case d.Original == nil:
		delete(w.objects, d.ID)
	default:
		metadata := maps.Clone(is["metadata"].(map[string]any))
		delete(metadata, "annotations")
		w.objects[d.ID] = thing{bundle.Object{"apiVersion": is["apiVersion"], "kind": is["kind"], "metadata": metadata, "spec": d.Original.Fields[0].Value}, w.tick}
	}
}

// apply is the API server's answer to a write.
func (w *world) apply(t *rapid.T, a bundle.Write) {
	id := a.Object.ID()
	is, there := w.objects[id]
	require.Equal(t, there, a.ResourceVersion != "", "BUNDLES.md 2: what is there is never created, what is not never applied")
	o := maps.Clone(a.Object)
	metadata := maps.Clone(o["metadata"].(map[string]any))
	w.uids++
	metadata["uid"], metadata["resourceVersion"] = strconv.Itoa(w.uids), strconv.Itoa(w.uids)
	if there {
		require.Equal(t, is.object.Text("metadata", "resourceVersion"), a.ResourceVersion)
		metadata["uid"] = is.object.Text("metadata", "uid")
	} else if id.Kind == "Job" {
		require.False(t, w.expired[id], "%s has run", id)
		w.ran[id]++
	}
	o["metadata"] = metadata
	w.objects[id] = thing{o, w.tick}
	if w.kindChange == bundle.DeleteFirst {
		require.LessOrEqual(t, len(w.workloads()), 1, "FLEET-DESIGN 17: one stops before the other starts")
	}
}

// workloads are the live Deployments, StatefulSets and DaemonSets.
func (w *world) workloads() []bundle.ID {
	var all []bundle.ID
	for id := range w.objects {
		if id.Kind == "Deployment" || id.Kind == "StatefulSet" || id.Kind == "DaemonSet" {
			all = append(all, id)
		}
	}
	return all
}

// expire removes Jobs whose time is over.
func (w *world) expire() {
	for id, is := range w.objects {
		if id.Kind == "Job" && is.object.Text("spec", "fail") == "" && w.tick-is.since > number(is.object, "ready")+2 {
			delete(w.objects, id)
			w.expired[id] = true
		}
	}
}

// objectsLeft are the objects that are there, without what the API server adds.
func (w *world) objectsLeft() map[bundle.ID]bundle.Object {
	all := map[bundle.ID]bundle.Object{}
	for id, is := range w.objects {
		metadata := maps.Clone(is.object["metadata"].(map[string]any))
		delete(metadata, "uid")
		delete(metadata, "resourceVersion")
		o := maps.Clone(is.object)
		o["metadata"] = metadata
		all[id] = o
	}
	return all
}
