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
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// hook is an object that Helm would run at a time of its own.
type hook struct {
	bundle.Object
	turn
	weight int
	// runs says that it has a turn, and is not applied like all else.
	runs bool
}

// Hooks returns the objects with Helm's hooks as ordinary objects (CONTENT.md X2). A Job or a Pod gets a phase: what
// runs before an installation or an upgrade runs before services and workloads, what runs after it last, and weights
// become an order. A Job runs once, in each revision, on upgrades or in an uninstallation. Other kinds are applied when
// their kind is. Hooks of events that do not exist here, and those that skip names as Kind/name, are left out, and named
// in the notes. Every other hook is refused by its name, unless its author gave it a phase. namespace is that of objects
// that name none; "" where it is not known.
func Hooks(objects []bundle.Object, namespace string, skip ...string) ([]bundle.Object, []string, error) {
	s := sorting{skip: map[string][]bundle.Target{}}
	failed := s.parse(skip)
	for _, o := range objects {
		if events := o.Annotation(release.HookAnnotation); events != "" {
			failed = append(failed, s.add(o, events))
		} else {
			s.kept = append(s.kept, o)
		}
	}
	failed = append(failed, s.unused(skip)...)
	order(s.running, namespace)
	return s.kept, s.notes, errors.Join(failed...)
}

// sorting sorts the objects of a chart.
type sorting struct {
	// skip has the targets of each name to leave out; those that were found are taken away. names are those of all hooks.
	skip    map[string][]bundle.Target
	names   []string
	kept    []bundle.Object
	running []hook
	notes   []string
}

// parse reads the names of hooks to leave out.
func (s *sorting) parse(skip []string) (failed []error) {
	for _, name := range skip {
		targets, err := bundle.ParseAfter(name)
		if err != nil {
			failed = append(failed, fmt.Errorf("cannot leave out a hook: %w", err))
			continue
		}
		s.skip[name] = targets
	}
	return failed
}

// unused refuses names that no hook has.
func (s *sorting) unused(skip []string) (failed []error) {
	for _, name := range skip {
		if len(s.skip[name]) == 0 {
			continue
		}
		cure := "the chart has no hook: remove the name"
		if near := spelling.Nearest(name, s.names); near != "" {
			cure = fmt.Sprintf("did you mean %q?", near)
		} else if len(s.names) > 0 {
			cure = "its hooks are " + strings.Join(s.names, ", ")
		}
		failed = append(failed, fmt.Errorf("cannot leave out hook %q: no hook has this name: %s", name, cure))
	}
	return failed
}

// skips reports whether a hook is left out by its name.
func (s *sorting) skips(id bundle.ID) (skipped bool) {
	s.names = append(s.names, id.Kind+"/"+id.Name)
	for name, targets := range s.skip {
		s.skip[name] = slices.DeleteFunc(targets, func(t bundle.Target) bool {
			skipped = skipped || t.Names(id)
			return t.Names(id)
		})
	}
	return skipped
}

// add takes a hook.
func (s *sorting) add(o bundle.Object, events string) error {
	if s.skips(o.ID()) {
		if _, err := parseTimes(events); err != nil {
			events = "" // it may quote a Secret (TRUST.md R5)
		} else {
			events = " (" + events + ")"
		}
		s.notes = append(s.notes, fmt.Sprintf("%s is a hook%s and is left out by its name", o.ID(), events))
		return nil
	}
	h := hook{Object: without(o)}
	if weight := o.Annotation(release.HookWeightAnnotation); weight != "" {
		var err error
		if h.weight, err = strconv.Atoi(weight); err != nil {
			return fmt.Errorf("cannot read the hook weight %q of %s: use a whole number", weight, o.ID())
		}
	}
	if o.Annotation(bundle.PhaseKey) != "" {
		s.kept = append(s.kept, h.Object)
		return nil
	}
	if err := s.time(h, events); err != nil {
		return refused(o.ID(), events, err)
	}
	return nil
}

// time takes a hook when its events are.
func (s *sorting) time(h hook, events string) error {
	times, err := parseTimes(events)
	switch {
	case err != nil:
		return err
	case times.only() != "":
		s.notes = append(s.notes, fmt.Sprintf("%s %s", h.ID(), times.only()))
		return nil
	case !runs(h.Object):
		s.kept = append(s.kept, h.Object)
		return nil
	}
	if h.turn, err = times.turn(h.ID().Kind); err != nil {
		return err
	}
	h.runs = true
	h.mark(bundle.PhaseKey, h.phase.String())
	if h.ID().Kind == "Job" && h.Annotation(bundle.RunKey) == "" {
		h.mark(bundle.RunKey, string(h.policy))
	}
	s.kept, s.running = append(s.kept, h.Object), append(s.running, h)
	return nil
}

func refused(id bundle.ID, events string, why error) error {
	return fmt.Errorf("cannot use hook %q of %s: %w: turn it off in the values, leave it out by its name (--skip-hook %s/%s, or "+
		"spec.render.skipHooks), or give it the annotation %s", events, id, why, id.Kind, id.Name, bundle.PhaseKey)
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

// order lets what runs in a phase wait for all that have the next lower weight there. An uninstallation has an order of
// its own.
func order(all []hook, namespace string) {
	all = slices.DeleteFunc(slices.Clone(all), func(h hook) bool { return !h.runs })
	slices.SortStableFunc(all, func(a, b hook) int {
		return cmp.Or(cmp.Compare(a.group(), b.group()), cmp.Compare(a.weight, b.weight), a.ID().Compare(b.ID()))
	})
	var earlier, level []bundle.ID
	for i, h := range all {
		if i > 0 && h.group() != all[i-1].group() {
			earlier, level = nil, nil
		} else if i > 0 && h.weight != all[i-1].weight {
			earlier, level = level, nil
		}
		if len(earlier) > 0 && h.Annotation(bundle.AfterKey) == "" {
			h.mark(bundle.AfterKey, strings.Join(h.targets(earlier, namespace), ","))
		}
		level = append(level, h.ID())
	}
}

// targets names objects in an annotation of the hook. To a hook of another namespace, that of objects which name none is
// said.
func (h hook) targets(ids []bundle.ID, namespace string) []string {
	var all []string
	for _, id := range ids {
		if in := h.ID().Namespace; in != "" && in != namespace {
			id.Namespace = cmp.Or(id.Namespace, namespace)
		}
		all = append(all, target(id))
	}
	return all
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
