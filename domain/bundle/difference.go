package bundle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Difference is how an object differs from an earlier revision, or from the bundle.
type Difference struct {
	ID ID
	// What describes the object, in words that follow its name.
	What string
	// Changes are its fields, without what is secret (BUNDLES.md 10).
	Changes []Change
}

// The states of an object that differs.
const (
	isMissing = "is missing"
	isChanged = "was changed"
	isStill   = "is no longer part of the bundle but still exists"
	isAdded   = "is new"
	isGone    = "was removed"
)

// Drift returns how a cluster differs from what a plan made of it, in the plan's order.
// A change leads from what is there to what the plan wants, and names who set it. An object that is not healthy differs
// too, by the judgement for which an installation waits (CONTENT.md H4).
func Drift(p Plan, r Record, live map[ID]Live) []Difference {
	var all []Difference
	for _, item := range p.Sequence {
		if d, differs := item.drift(p.Owner, r, live[item.ID]); differs {
			all = append(all, d)
		}
	}
	for _, e := range left(r.Inventory, p.Sequence) {
		if situation, _ := live[e.ID].Situation(p.Owner); situation == Ours {
			all = append(all, Difference{ID: e.ID, What: isStill})
		}
	}
	return all
}

// drift is the difference of one object. A Job that has run may be gone.
func (i Item) drift(owner string, r Record, l Live) (d Difference, differs bool) {
	d.ID = i.ID
	switch situation, holder := l.Situation(owner); {
	case l.NoAPI && i.Optional, i.job() && (i.Kept || r.completed(i)):
		return d, false
	case situation == Absent:
		d.What = isMissing
	case situation != Ours:
		d.What = managedBy(holder)
	case l.leaving():
		d.What = l.ending()
	case l.Immutable != "":
		d.What = isChanged + ": " + l.Immutable
	default:
		d.What, d.Changes = i.ill(l), shown(i.ID, l.Changes)
		switch {
		case len(d.Changes) == 0:
			return d, d.What != ""
		case d.What == "":
			d.What = isChanged
		default:
			d.What = isChanged + " and " + d.What
		}
	}
	return d, true
}

// ill describes an object that is not healthy; "" for one that is, or whose health is not known. A Job only ends.
func (i Item) ill(l Live) string {
	switch {
	case i.job() || l.Health != InProgress && l.Health != Failing && l.Health != Broken:
		return ""
	case strings.HasPrefix(l.Says, "is "):
		return l.Says
	}
	return "is not healthy: " + cmp.Or(l.Says, "its status shows no reason")
}

// Compare returns how a sequence differs from an earlier one, in the order of names. Jobs
// are compared under the names that their authors gave them.
func Compare(before, after Sequence) []Difference {
	was, is := before.byOrigin(), after.byOrigin()
	var all []Difference
	for _, id := range slices.SortedFunc(maps.Keys(is), ID.Compare) {
		old, there := was[id]
		changes := shown(id, compared("", old.authored(), is[id].authored()))
		switch {
		case !there:
			all = append(all, Difference{ID: id, What: isAdded})
		case len(changes) > 0:
			all = append(all, Difference{ID: id, What: isChanged, Changes: changes})
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(was), ID.Compare) {
		if _, there := is[id]; !there {
			all = append(all, Difference{ID: id, What: isGone})
		}
	}
	return all
}

// Expected returns the fields in which a live object differs from a wanted one, without a dry run.
// It ignores defaults of the API server, and takes another spelling of a value for a difference.
func Expected(live, wanted Object) []Change {
	if label := wanted.At("metadata", "labels", DeploymentKey); label != nil { // a missing label is not drift
		live = live.with(label, "metadata", "labels", DeploymentKey)
	}
	return shown(wanted.ID(), absent("", map[string]any(live), map[string]any(wanted.without("status"))))
}

func absent(path string, live, wanted any) []Change {
	is, want := parts(live), parts(wanted)
	if is == nil || want == nil {
		if written(live) == written(wanted) || wanted == nil {
			return nil
		}
		return []Change{{Path: path, Before: written(live), After: written(wanted), Ours: true}}
	}
	var all []Change
	for _, name := range slices.Sorted(maps.Keys(want)) {
		all = append(all, absent(joinPath(path, name), is[name], want[name])...)
	}
	return all
}

func (s Sequence) byOrigin() map[ID]Item {
	items := map[ID]Item{}
	for _, item := range s {
		items[item.Origin] = item
	}
	return items
}

// authored returns the object under the name that its author gave it.
func (i Item) authored() map[string]any { return i.Object.with(i.Origin.Name, "metadata", "name") }

// compared lists the fields in which two values differ, in the order of their paths.
func compared(path string, before, after any) []Change {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	was, is := parts(before), parts(after)
	if was == nil || is == nil {
		return []Change{{Path: path, Before: written(before), After: written(after)}}
	}
	names := maps.Clone(was)
	maps.Copy(names, is)
	var all []Change
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, compared(joinPath(path, name), was[name], is[name])...)
	}
	return all
}

// parts returns the fields or elements of a value by the step of a path that leads to them; nil
// for any other value. Elements that all have a name are found by that.
func parts(value any) map[string]any {
	switch v := value.(type) {
	case map[string]any:
		return v
	case []any:
		steps := map[string]any{}
		for _, one := range v {
			fields, _ := one.(map[string]any)
			if name := Object(fields).Text("name"); name != "" {
				steps[fmt.Sprintf("[name=%q]", name)] = one
			}
		}
		if len(steps) == len(v) {
			return steps
		}
		clear(steps)
		for i, one := range v {
			steps["["+strconv.Itoa(i)+"]"] = one
		}
		return steps
	}
	return nil
}

func joinPath(path, step string) string {
	if path == "" || step[:min(1, len(step))] == "[" {
		return path + step
	}
	return path + "." + step
}

// written returns a value as JSON; empty for none.
func written(value any) string {
	if value == nil {
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
