package bundle

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Wanted is a request to install something, as far as it can be wrong in itself.
type Wanted struct {
	Name    string
	Sources []WantedSource
	// Format is a format's name; "" lets the content decide.
	Format string
	// Values says that values are given, Watch that namespaces to watch are, Parameters that parameters are.
	Values, Watch, Parameters bool
	// SkipHooks names hooks that are left out.
	SkipHooks []string
	// DependsOn are other deployments of the namespace.
	DependsOn []string
	// Ignores lists fields that others are to set.
	Ignores []Ignore
	// Judged says that a policy approves, and Rules how many it has.
	Judged bool
	Rules  int
	// Deadline is how long an object may go without progress; 0 for the default.
	Deadline time.Duration
}

// WantedSource is a place that content comes from.
type WantedSource struct {
	// Reference is its text (ParseReference), and Track says that it may mean something else
	// tomorrow.
	Reference string
	Track     bool
	// Authorized says that credentials are given.
	Authorized bool
	// Destination is the folder that the content is laid into; "" is the top.
	Destination string
}

// shortest is the least time that an object is given: below it what is pulled and started
// fails for being slow.
const shortest = 10 * time.Second

// Check returns what is wrong, all of it, with the field, the reason and the cure.
func (w Wanted) Check() error {
	var faults []error
	for i, s := range w.Sources {
		if field, err := s.Check(); err != nil {
			faults = append(faults, fmt.Errorf("spec.sources[%d].%s: %w", i, field, err))
		} else if r, _ := ParseReference(s.Reference); r.Deployable() != nil {
			faults = append(faults, fmt.Errorf("spec.sources[%d].reference: %w", i, r.Deployable()))
		}
	}
	faults = append(faults, w.checkRender()...)
	if slices.Contains(w.DependsOn, w.Name) {
		faults = append(faults, errors.New("spec.dependsOn: the deployment depends on itself: remove it"))
	}
	for i, ignore := range w.Ignores {
		if err := ignore.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("spec.drift.ignore[%d]: %w", i, err))
		}
	}
	if w.Judged != (w.Rules > 0) {
		faults = append(faults, fmt.Errorf("spec.approval: mode %s and a policy go together: write both, or neither", ByPolicy))
	}
	if w.Deadline != 0 && w.Deadline < shortest {
		faults = append(faults, fmt.Errorf("spec.rollback.progressDeadline: %s is too short for anything to start: use at least %s",
			w.Deadline, shortest))
	}
	return errors.Join(faults...)
}

// checkRender returns the settings that the format does not support; a format that is detected may support all.
func (w Wanted) checkRender() []error {
	var faults []error
	if _, err := ParseTargets("spec.render.skipHooks", w.SkipHooks); err != nil {
		faults = append(faults, err)
	}
	format := Format(w.Format)
	if format == "" {
		return faults
	}
	if len(w.SkipHooks) > 0 && format != Helm {
		faults = append(faults, fmt.Errorf("spec.render.skipHooks: format %s has no hooks: remove it, or set spec.format: %s", format, Helm))
	}
	if w.Values && format != Helm && format != OpenShiftTemplate && format != RegistryV1 {
		faults = append(faults, fmt.Errorf("spec.render: format %s supports no values: remove values and valuesFrom, or set spec.format: %s",
			format, Helm))
	}
	if w.Watch && format != RegistryV1 {
		faults = append(faults, fmt.Errorf("spec.render.watchNamespaces: format %s does not support it: remove it, or set spec.format: %s",
			format, RegistryV1))
	}
	if w.Parameters && format != OpenShiftTemplate {
		faults = append(faults, fmt.Errorf("spec.render.parameters: format %s does not support it: remove it, or set spec.format: %s",
			format, OpenShiftTemplate))
	}
	return faults
}

// Check returns what is wrong with a source, and in which field.
func (s WantedSource) Check() (field string, err error) {
	r, err := ParseReference(s.Reference)
	switch {
	case err != nil:
		return "reference", err
	case r.Origin == Local:
		return "reference", fmt.Errorf("%q is a local path, which the controller cannot read: use a reference that begins with oci://, "+
			"git+https://, https:// or configmaps: instead", s.Reference)
	case s.Track && r.Pinned() == nil:
		return "resolve", fmt.Errorf("%s is pinned, so there is nothing to track: remove resolve", r)
	case r.Origin == GraphQL && !s.Track:
		return "reference", fmt.Errorf("%s: a GraphQL server has no more than its latest data: set resolve: Track", r)
	case r.Pinned() != nil && !s.Track:
		return "reference", fmt.Errorf("%s is not pinned, so its content may change: pin it (@sha256:DIGEST, @COMMIT, #sha256=CHECKSUM), or "+
			"set resolve: Track", r)
	case s.Authorized && r.Origin == ConfigMaps:
		return "auth", errors.New("ConfigMaps are read by the deployment's ServiceAccount: remove auth")
	case s.Destination == "":
		return "", nil
	}
	return "destination", CheckPath(s.Destination)
}

// Waiters lists the deployments that wait for a deployment, as far as it depends on them itself: a circle in which
// all would wait for ever. dependsOn has the dependencies of each. It returns the circle from the deployment back to
// itself, nil for none.
func Waiters(name string, dependsOn map[string][]string) []string {
	seen := map[string]bool{}
	var walk func(at string, way []string) []string
	walk = func(at string, way []string) []string {
		for _, next := range dependsOn[at] {
			if next == name {
				return append(way, next)
			}
			if seen[next] {
				continue
			}
			seen[next] = true
			if circle := walk(next, append(slices.Clone(way), next)); circle != nil {
				return circle
			}
		}
		return nil
	}
	return walk(name, []string{name})
}
