package helm

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	release "helm.sh/helm/v4/pkg/release/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// The phases of what runs: before the services and workloads, and after all else.
const (
	before = bundle.Storage
	behind = bundle.Jobs
)

// hook is an object that Helm would run at a time of its own.
type hook struct {
	bundle.Object
	phase  bundle.Phase
	weight int
	// runs says that it has a turn, and is not applied like all else.
	runs bool
}

// Hooks returns the objects with Helm's hooks as objects in a phase. What runs before an
// installation runs before services and workloads, what runs after it last; weights
// become an order; what other kinds hold is applied when its kind is. A hook of
// installations alone runs once, one of upgrades too runs for each revision. Tests are
// left out, and named in the notes. Every other hook is refused by its name, unless its
// author gave it a phase.
func Hooks(objects []bundle.Object) ([]bundle.Object, []string, error) {
	var kept []bundle.Object
	var running []hook
	var notes []string
	var failed []error
	for _, o := range objects {
		events := o.Annotation(release.HookAnnotation)
		if events == "" {
			kept = append(kept, o)
			continue
		}
		h, test, err := newHook(o, events)
		switch {
		case err != nil:
			failed = append(failed, err)
		case test:
			notes = append(notes, fmt.Sprintf("%s is a Helm test and is skipped", o.ID()))
		default:
			kept = append(kept, h.Object)
			running = append(running, h)
		}
	}
	order(running)
	return kept, notes, errors.Join(failed...)
}

// newHook says when an object's turn comes, or that it is a test.
func newHook(o bundle.Object, events string) (h hook, test bool, err error) {
	h = hook{Object: without(o)}
	if weight := o.Annotation(release.HookWeightAnnotation); weight != "" {
		if h.weight, err = strconv.Atoi(weight); err != nil {
			return h, false, fmt.Errorf("cannot read the hook weight %q of %s: use a whole number", weight, o.ID())
		}
	}
	if o.Annotation(bundle.PhaseKey) != "" {
		return h, false, nil
	}
	t, why := turnOf(events)
	switch {
	case why != "":
		return h, false, refused(o, events, why)
	case t.test || !runs(o):
		return h, t.test, nil
	}
	h.phase, h.runs = t.phase, true
	h.mark(bundle.PhaseKey, t.phase.String())
	if o.ID().Kind == "Job" && h.Annotation(bundle.RunKey) == "" {
		h.mark(bundle.RunKey, string(t.policy))
	}
	return h, false, nil
}

// turn is when and how often what is run by Helm runs.
type turn struct {
	phase  bundle.Phase
	policy bundle.RunPolicy
	test   bool
}

// turnOf reads the events of a hook; why is the reason if they cannot be had.
func turnOf(text string) (t turn, why string) {
	events := map[string]bool{}
	for event := range strings.SplitSeq(text, ",") {
		events[strings.TrimSpace(event)] = true
	}
	install := [2]bool{events[string(release.HookPreInstall)], events[string(release.HookPostInstall)]}
	upgrade := [2]bool{events[string(release.HookPreUpgrade)], events[string(release.HookPostUpgrade)]}
	for _, known := range []release.HookEvent{
		release.HookPreInstall, release.HookPostInstall, release.HookPreUpgrade, release.HookPostUpgrade,
		release.HookPreRollback, release.HookPostRollback, // the way back is a revision like others
	} {
		delete(events, string(known))
	}
	none := [2]bool{}
	switch {
	case isTest(events) && install == none && upgrade == none:
		return turn{test: true}, ""
	case len(events) > 0 || install == none:
		return t, "nothing runs then"
	case install[0] == install[1] || upgrade != install && upgrade != none:
		return t, "it would run at two times"
	}
	t = turn{phase: before, policy: bundle.Once}
	if install[1] {
		t.phase = behind
	}
	if upgrade == install {
		t.policy = bundle.Always
	}
	return t, ""
}

func refused(o bundle.Object, events, why string) error {
	return fmt.Errorf("cannot use hook %q of %s: %s: turn it off in the values, or give it the annotation %s", events, o.ID(), why, bundle.PhaseKey)
}

// isTest reports whether nothing but tests is left of the events.
func isTest(events map[string]bool) bool {
	for event := range events {
		if event != string(release.HookTest) && event != "test-success" {
			return false
		}
	}
	return len(events) > 0
}

// runs reports whether an object is something that runs and ends.
func runs(o bundle.Object) bool {
	id := o.ID()
	return id.Kind == "Job" && id.Group == "batch" || id.Kind == "Pod" && id.Group == ""
}

// without returns a copy of an object without Helm's annotations of hooks, which hold no
// longer.
func without(o bundle.Object) bundle.Object {
	all, _ := o.At("metadata", "annotations").(map[string]any)
	kept := maps.Clone(all)
	for _, key := range []string{release.HookAnnotation, release.HookWeightAnnotation, release.HookDeleteAnnotation, release.HookOutputLogAnnotation} {
		delete(kept, key)
	}
	metadata, _ := o["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	metadata["annotations"] = kept
	if len(kept) == 0 {
		delete(metadata, "annotations")
	}
	o = maps.Clone(o)
	o["metadata"] = metadata
	return o
}

// mark sets an annotation of a copy that without made.
func (h hook) mark(key, value string) {
	metadata, _ := h.Object["metadata"].(map[string]any)
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[key] = value
}

// order lets what runs in a phase wait for all that have the next lower weight there.
func order(all []hook) {
	all = slices.DeleteFunc(slices.Clone(all), func(h hook) bool { return !h.runs })
	slices.SortStableFunc(all, func(a, b hook) int {
		return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(a.weight, b.weight), a.ID().Compare(b.ID()))
	})
	var earlier, level []string
	for i, h := range all {
		if i > 0 && h.phase != all[i-1].phase {
			earlier, level = nil, nil
		} else if i > 0 && h.weight != all[i-1].weight {
			earlier, level = level, nil
		}
		if len(earlier) > 0 && h.Annotation(bundle.AfterKey) == "" {
			h.mark(bundle.AfterKey, strings.Join(earlier, ","))
		}
		level = append(level, target(h.ID()))
	}
}

// target names an object as the annotation does: Kind[.group]/[namespace/]name.
func target(id bundle.ID) string {
	kind := id.Kind
	if id.Group != "" {
		kind += "." + id.Group
	}
	if id.Namespace != "" {
		kind += "/" + id.Namespace
	}
	return kind + "/" + id.Name
}
