package bundle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Reason is why a plan is held or refused.
type Reason string

// The reasons (BUNDLES.md 4).
const (
	// Empty: nothing was rendered, and the deployment has objects.
	Empty Reason = "Empty"
	// TooMany: more objects would be deleted than may be without confirmation.
	TooMany Reason = "TooManyDeletions"
	// Confirm: a deletion cannot be undone.
	Confirm Reason = "Confirm"
	// Claims: a StatefulSet is made again, and its claims stay as they are.
	Claims Reason = "Claims"
)

// Hold is a part of a plan that waits until a person confirms each object by name.
type Hold struct {
	Reason  Reason
	Objects []ID
}

// String describes what is held and the cure, in the words of a BundleDeployment.
func (h Hold) String() string {
	cure := "put it back into the bundle"
	if h.Reason == Claims {
		cure = "take the change back"
	}
	return h.Words() + ". Confirm each object in an Approval, or " + cure
}

// Words describes what is held, and why.
func (h Hold) Words() string {
	why := map[Reason]string{
		Empty:   "the bundle is empty, so this would delete everything it made",
		TooMany: "this would delete more objects than may be deleted without confirmation",
		Confirm: "this deletion cannot be undone",
		Claims:  "this StatefulSet is deleted and made again: its pods stop meanwhile, and changes of its claims have no effect on those that exist",
	}[h.Reason]
	var names []string
	for _, id := range h.Objects {
		names = append(names, id.String())
	}
	return fmt.Sprintf("%s: %s", why, strings.Join(names, ", "))
}

// defaultDeletions is how many objects may leave without a person.
const defaultDeletions = 10

// costly lists kinds whose objects take data with them that cannot be restored.
//
//nolint:gochecknoglobals // a table
var costly = []string{"Namespace", "PersistentVolume", "PersistentVolumeClaim", definition}

// confirms reports whether a person confirms the end of an object. What the live object
// says counts: that of a failed revision may never have been applied.
func (d *drafting) confirms(id ID) bool {
	return d.prunes(id) == PruneConfirm || slices.Contains(costly, id.kind()) || slices.Contains(d.ConfirmKinds, id.kind()) || slices.Contains(d.ConfirmKinds, id.Kind)
}

func (d *drafting) prunes(id ID) Pruning { return Pruning(d.Live[id].Object.Annotation(PruneKey)) }

// Entry records an object that the deployment may have made.
type Entry struct {
	ID, Origin ID
	Phase      Phase
	Depth      int
	// Final says that it is a Job that runs in an uninstallation, before anything is deleted.
	Final bool `json:",omitempty"`
}

// removal orders entries: what was last goes first, definitions last of all, after the
// namespaces even.
func removal(a, b Entry) int {
	return cmp.Or(b.turn()-a.turn(), b.Depth-a.Depth, a.ID.Compare(b.ID))
}

// turn is the entry's phase, or before all where it is a definition. Webhooks go before what
// answers them, in whatever phase they came.
func (e Entry) turn() int {
	switch {
	case e.ID.kind() == definition:
		return -1
	case DefaultPhase(e.ID) == Webhooks:
		return int(max(e.Phase, Webhooks))
	}
	return int(e.Phase)
}

// left are the entries that are not in the sequence any more, in the order in which they go.
func left(inventory []Entry, s Sequence) []Entry {
	there := map[ID]bool{}
	for _, item := range s {
		there[item.ID] = true
	}
	gone := slices.DeleteFunc(slices.Clone(inventory), func(e Entry) bool { return there[e.ID] })
	slices.SortFunc(gone, removal)
	return gone
}

// remove adds what left the bundle. On the way back what a person would have to confirm
// stays in the inventory, for the next plan.
func (d *drafting) remove() {
	for _, e := range left(d.Record.Inventory, d.plan.Sequence) {
		situation, _ := d.Live[e.ID].Situation(d.Owner)
		a := Action{Verb: Delete, ID: e.ID, Phase: e.Phase, Depth: e.Depth, Why: "no longer part of the bundle"}
		if d.Uninstall {
			a.Why = ""
		}
		switch {
		case situation != Ours:
			continue
		case d.Record.Originals.of(e.ID) != nil:
			a.Verb, a.Why, a.Original = GiveBack, "was there before", d.Record.Originals.of(e.ID).Digest()
		case d.Back > 0 && d.confirms(e.ID):
			continue
		case d.prunes(e.ID) == PruneNever:
			a.Verb, a.Why = Keep, "no longer part of the bundle, kept by "+PruneKey+": "+string(PruneNever)
		}
		d.plan.Actions = append(d.plan.Actions, a)
	}
}

// hold says what of the plan waits for a person. However much a failed revision has made, it goes on the way back.
func (d *drafting) hold() {
	deleted := d.done(Delete)
	if d.Uninstall || d.Back > 0 {
		deleted = nil
	}
	if len(d.Sequence) == 0 && len(deleted) > 0 {
		d.plan.Holds = append(d.plan.Holds, Hold{Empty, deleted})
	}
	if leaving := d.leaving(deleted); len(leaving) > max(0, cmp.Or(d.MaxDeletions, defaultDeletions)) {
		d.plan.Holds = append(d.plan.Holds, Hold{TooMany, leaving})
	}
	if costs := slices.DeleteFunc(d.done(Recreate, Delete), func(id ID) bool { return !d.confirms(id) }); len(costs) > 0 {
		d.plan.Holds = append(d.plan.Holds, Hold{Confirm, costs})
	}
	if stateful := d.stateful(); len(stateful) > 0 && d.Back == 0 {
		d.plan.Holds = append(d.plan.Holds, Hold{Claims, stateful})
	}
}

// stateful are the StatefulSets with claims that are made again because a change needs that.
func (d *drafting) stateful() []ID {
	again := slices.DeleteFunc(d.done(Recreate), func(id ID) bool { return d.Live[id].Immutable == "" || d.confirms(id) })
	var all []ID
	for _, item := range d.plan.Sequence {
		if slices.Contains(again, item.ID) && len(claimTemplates(item.Object)) > 0 {
			all = append(all, item.ID)
		}
	}
	return all
}

// claimTemplates returns the templates of the claims of a StatefulSet.
func claimTemplates(o Object) []any {
	all, _ := o.At("spec", "volumeClaimTemplates").([]any)
	return all
}

// done are the objects with which the plan does one of some things.
func (d *drafting) done(verbs ...Verb) []ID {
	var ids []ID
	for _, a := range d.plan.Actions {
		if slices.Contains(verbs, a.Verb) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// leaving are those of some objects of the inventory that the bundle has no more. A Job
// that only has other content has not left.
func (d *drafting) leaving(deleted []ID) []ID {
	gone := map[ID]bool{}
	for _, id := range deleted {
		gone[id] = true
	}
	origins := map[ID]bool{}
	for _, item := range d.plan.Sequence {
		origins[item.Origin] = true
	}
	var ids []ID
	for _, e := range left(d.Record.Inventory, d.plan.Sequence) {
		if gone[e.ID] && !origins[e.Origin] {
			ids = append(ids, e.ID)
		}
	}
	return ids
}
