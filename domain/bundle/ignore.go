package bundle

import (
	"errors"
	"fmt"
	"maps"
	"strings"
)

// Ignore names fields that others may set, such as the replicas that an autoscaler chooses: their
// changes there are not corrected (BUNDLES.md 12).
type Ignore struct {
	// APIVersion and Kind select objects; only the group of the version counts.
	APIVersion, Kind string
	// Name selects one object; empty for all of the kind.
	Name string
	// Paths lead to the fields, as differences print them: spec.replicas,
	// spec.template.spec.containers[name="web"].image; [*] is every element of a list. Fields below
	// are included.
	Paths []string
}

// Validate returns an error that names each field that is missing or cannot be read.
func (i Ignore) Validate() error {
	var faults []error
	if i.APIVersion == "" || i.Kind == "" {
		faults = append(faults, errors.New("cannot ignore fields of no kind: write apiVersion and kind, for example apps/v1 and Deployment"))
	}
	if len(i.Paths) == 0 {
		faults = append(faults, fmt.Errorf("cannot ignore nothing of %s: write paths, for example spec.replicas", i.Kind))
	}
	for _, path := range i.Paths {
		if err := readable(path); err != nil {
			faults = append(faults, fmt.Errorf("cannot ignore path %q of %s: %w", path, i.Kind, err))
		}
	}
	return errors.Join(faults...)
}

// readable returns an error for a path that cannot be read.
func readable(path string) error {
	switch plain := strings.TrimPrefix(path, "."); {
	case plain == "" || plain[0] == '[':
		return errors.New("it names no field: write it as orcon diff prints it, for example spec.replicas")
	case plain == "metadata" || plain == "metadata.annotations" || strings.HasPrefix(plain, "metadata.annotations."+prefix):
		return errors.New("the annotations of Orcon are among them: name the labels or annotations that others set")
	}
	for rest := path; ; {
		begin := strings.IndexByte(rest, '[')
		if begin < 0 {
			return nil
		}
		_, after, err := parsePick(rest[begin:])
		if err != nil {
			return err
		}
		rest = after
	}
}

// fits reports whether an object is selected.
func (i Ignore) fits(id ID) bool {
	group, _, found := strings.Cut(i.APIVersion, "/")
	if !found {
		group = ""
	}
	return group == id.Group && i.Kind == id.Kind && (i.Name == "" || i.Name == id.Name)
}

// Settle returns an object as it is compared and applied: ignored fields have their live values, or
// are left out if they are missing there. An object that does not exist yet stays as it was
// written. Fields that the object does not have are left alone, and Orcon's label is never ignored.
func Settle(want, live Object, ignores []Ignore) Object {
	if live == nil {
		return want
	}
	label := want.Text("metadata", "labels", DeploymentKey)
	for _, i := range ignores {
		if !i.fits(want.ID()) {
			continue
		}
		for _, path := range i.Paths {
			if settled, ok := settle(map[string]any(want), map[string]any(live), strings.TrimPrefix(path, ".")).(map[string]any); ok {
				want = settled
			}
		}
	}
	if label != "" {
		return want.with(label, "metadata", "labels", DeploymentKey)
	}
	return want
}

// settle returns a value whose part at a path is the live one. It copies the values that it changes.
func settle(want, live any, path string) any {
	switch v := want.(type) {
	case map[string]any:
		return settleFields(v, live, path)
	case []any:
		return settleElements(v, live, path)
	}
	return want
}

func settleFields(want map[string]any, live any, path string) any {
	there, _ := live.(map[string]any)
	settled := maps.Clone(want)
	for name, value := range want {
		rest, leads := step(path, name)
		now, has := there[name]
		switch {
		case !leads:
		case rest != "":
			settled[name] = settle(value, now, rest)
		case has:
			settled[name] = now
		default:
			delete(settled, name)
		}
	}
	return settled
}

// step cuts a name, which may contain dots, from the beginning of a path.
func step(path, name string) (rest string, leads bool) {
	rest, leads = strings.CutPrefix(path, name)
	switch {
	case !leads || name == "":
		return "", false
	case rest == "" || rest[0] == '[':
		return rest, true
	case rest[0] == '.':
		return rest[1:], true
	}
	return "", false
}

func settleElements(want []any, live any, path string) any {
	chosen, rest, err := parsePick(path)
	if err != nil {
		return want
	}
	rest = strings.TrimPrefix(rest, ".")
	there, _ := live.([]any)
	settled := make([]any, 0, len(want))
	for at, one := range want {
		if !chosen.takes(at, one) {
			settled = append(settled, one)
			continue
		}
		now, has := chosen.same(at, one, there)
		switch {
		case rest != "":
			settled = append(settled, settle(one, now, rest))
		case has:
			settled = append(settled, now)
		}
	}
	return settled
}
