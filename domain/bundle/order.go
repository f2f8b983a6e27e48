package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Item is an object in its place.
type Item struct {
	// Object is the object as applied, without the marks of its owner. A Job has its suffix.
	Object Object
	ID     ID
	// Origin is the name that the author gave it; of a Job without the suffix.
	Origin ID
	// Phase is when it is written; Depth is how many of the same phase stand before it, one
	// after the other.
	Phase Phase
	Depth int
	// After are the objects that it waits for besides those of earlier phases.
	After []Edge
	// Digest is that of Object as its author wrote it.
	Digest string
	// Optional says that the object is left out where its kind is unknown.
	Optional bool
	// Run is the policy of a Job; empty for all else.
	Run RunPolicy
	// Kept says that it is left as it is, if it is there: the definitions and Jobs of a way back.
	Kept bool

	after []Target
}

// Sequence is a bundle in order: by phase, within it by depth, then by name. It is the
// same for the same objects, in whatever order they come.
type Sequence []Item

// Order puts the objects of a bundle in their sequence. The error names every object that
// is incomplete or twice there, every annotation that cannot be read, the first targets of edges that
// are unknown or not certain, and the first cycles in full. Workloads whose name matches one
// of the canaries, patterns of package path, come before the other workloads.
func Order(objects []Object, canaries ...string) (Sequence, error) {
	sequence, err := items(objects)
	if err != nil {
		return nil, err
	}
	g := graph{items: sequence, places: map[ID]int{}, edges: map[[2]int]bool{}}
	for i, item := range sequence {
		g.places[item.Origin] = i
	}
	if err := g.explicit(); err != nil {
		return nil, err
	}
	g.derive()
	g.advance()
	g.precede(canaries)
	if g.vast() {
		return nil, errEdges
	}
	if err := g.settle(); err != nil {
		return nil, err
	}
	slices.SortFunc(sequence, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Depth, b.Depth), a.ID.Compare(b.ID))
	})
	return sequence, nil
}

// items reads the objects, in the order of their names.
func items(objects []Object) (Sequence, error) {
	var sequence Sequence
	var faults []error
	defined := map[ID]bool{}
	for _, o := range objects {
		if o.ID().kind() == definition {
			defined[ID{Group: o.Text("spec", "group"), Kind: o.Text("spec", "names", "kind")}] = true
		}
	}
	seen := map[ID]bool{}
	for _, o := range objects {
		item, err := newItem(o, defined)
		if err == nil && seen[item.Origin] {
			err = fmt.Errorf("the bundle defines %s twice: remove or rename one", item.Origin)
		}
		seen[item.Origin] = true
		faults = append(faults, err)
		sequence = append(sequence, item)
	}
	slices.SortFunc(sequence, func(a, b Item) int { return a.Origin.Compare(b.Origin) })
	return sequence, errors.Join(faults...)
}

// definition is the kind that defines others.
const definition = "CustomResourceDefinition.apiextensions.k8s.io"

func newItem(o Object, defined map[ID]bool) (Item, error) {
	i := Item{Object: o, ID: o.ID(), Origin: o.ID(), Phase: DefaultPhase(o.ID())}
	for field, value := range map[string]string{"apiVersion": o.Text("apiVersion"), "kind": i.ID.Kind, "metadata.name": i.ID.Name} {
		if value == "" {
			return i, fmt.Errorf("cannot order object %s: it has no %s: write one", i.ID, field)
		}
	}
	if holder := controllerOf(o); holder != "" {
		return i, fmt.Errorf("cannot order object %s: metadata.ownerReferences says that %s controls it, which then owns it instead of the "+
			"deployment: remove the reference", i.ID, holder)
	}
	if defined[ID{Group: i.ID.Group, Kind: i.ID.Kind}] {
		i.Phase = CustomResources
	}
	if i.job() {
		i.Run = OnChange
	}
	if err := i.read(); err != nil {
		return i, err
	}
	text, err := o.Canonical()
	if err != nil {
		return i, err
	}
	i.Digest = digest(string(text))
	if i.job() {
		i = i.named("")
	}
	return i, nil
}

// Back returns the sequence of a plan that was stored as it is brought back after a
// failure: definitions are never rolled back, and Jobs not run again (BUNDLES.md 6).
func (s Sequence) Back() Sequence {
	back := slices.Clone(s)
	for i := range back {
		back[i].Kept = back[i].ID.kind() == definition || back[i].job()
	}
	return back
}
