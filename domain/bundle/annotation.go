package bundle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// What people write on objects of a bundle.
const (
	prefix = "orcon.tengu.io/"
	// PhaseKey names a Phase.
	PhaseKey = prefix + "phase"
	// AfterKey lists what must be healthy before: Kind[.group]/[namespace/]name, separated by commas.
	AfterKey = prefix + "after"
	// PruneKey says whether the object goes when it leaves the bundle: Never, or Confirm.
	PruneKey = prefix + "prune"
	// OptionalKey says IfAPIPresent where the object is left out of clusters that do not know its kind.
	OptionalKey = prefix + "optional"
	// RunKey is the RunPolicy of a Job.
	RunKey = prefix + "run-policy"
	// MakesKey lists ConfigMaps and Secrets that the object creates, as AfterKey does: workloads
	// that read them are not refused because they are missing.
	MakesKey = prefix + "makes"
	// AddressKey says Ignore where a Service or an Ingress is healthy without an address.
	AddressKey = prefix + "address"
)

// What administrators write on a namespace; the policy orcon-bundle-approval keeps others from it.
const (
	// ApprovalKey has the value Digest where each plan needs an Approval, whatever a deployment says.
	ApprovalKey = prefix + "approval"
	// SelfApprovalKey has the value Forbid where users do not approve their own requests.
	SelfApprovalKey = prefix + "self-approval"
)

// What Orcon writes on objects that it applies.
const (
	// OwnerKey names the deployment that the object belongs to, as namespace/name.
	OwnerKey = prefix + "bundle"
	// DigestKey is the digest of the applied content.
	DigestKey = prefix + "digest"
	// DeploymentKey is a label with the name of the deployment, by which its objects are watched.
	DeploymentKey = prefix + "deployment"
)

// Pruning says whether an object goes when it leaves its bundle.
type Pruning string

// The ways to prune.
const (
	// PruneAlways is the default.
	PruneAlways Pruning = ""
	// PruneNever leaves the object where it is.
	PruneNever Pruning = "Never"
	// PruneConfirm waits until a person has confirmed it.
	PruneConfirm Pruning = "Confirm"
)

// The values of OptionalKey and of AddressKey.
const (
	ifPresent     = "IfAPIPresent"
	ignoreAddress = "Ignore"
)

// read sets what the annotations of an item say. The error names each annotation that
// cannot be read, the reason and the cure.
func (i *Item) read() error {
	var faults []error
	notes, _ := i.Object.At("metadata", "annotations").(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(notes)) {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if err := i.annotation(key, i.Object.Annotation(key)); err != nil {
			faults = append(faults, fmt.Errorf("cannot read annotation %s of %s: %w", key, i.ID, err))
		}
	}
	if i.Object.At("metadata", "labels", DeploymentKey) != nil {
		faults = append(faults, fmt.Errorf("cannot read label %s of %s: %w", DeploymentKey, i.ID, errReserved))
	}
	return errors.Join(faults...)
}

// errReserved reports a mark that users may not write.
var errReserved = errors.New("only Orcon writes it: remove it")

func (i *Item) annotation(key, value string) (err error) {
	switch key {
	case PhaseKey:
		i.Phase, err = ParsePhase(value)
	case AfterKey:
		i.after, err = ParseAfter(value)
	case MakesKey:
		_, err = ParseAfter(value)
	case PruneKey:
		_, err = word(value, []string{string(PruneNever), string(PruneConfirm)})
	case OptionalKey:
		i.Optional = true
		_, err = word(value, []string{ifPresent})
	case AddressKey:
		_, err = word(value, []string{ignoreAddress})
	case RunKey:
		if !i.job() {
			return errors.New("only a Job is run: remove it")
		}
		i.Run, err = ParseRunPolicy(value)
	case OwnerKey, DigestKey:
		return errReserved
	default:
		known := []string{PhaseKey, AfterKey, PruneKey, OptionalKey, RunKey, MakesKey, AddressKey}
		if near := spelling.Nearest(key, known); near != "" {
			return fmt.Errorf("it is unknown: did you mean %s?", near)
		}
	}
	return err
}

// Target names an object in annotation orcon.tengu.io/after. Without a group, any group fits;
// without a namespace, that of the annotated object, and objects of the whole cluster.
type Target struct {
	Kind, Group string
	// Grouped reports that the group was written.
	Grouped         bool
	Namespace, Name string
}

// String writes the target as it is read.
func (t Target) String() string {
	kind := t.Kind
	if t.Grouped {
		kind += "." + t.Group
	}
	if t.Namespace != "" {
		return kind + "/" + t.Namespace + "/" + t.Name
	}
	return kind + "/" + t.Name
}

// ParseAfter reads a list of targets.
func ParseAfter(text string) ([]Target, error) {
	var targets []Target
	for entry := range strings.SplitSeq(text, ",") {
		t, err := parseTarget(strings.TrimSpace(entry))
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// ParseTargets reads lists of targets that a setting has.
func ParseTargets(setting string, texts []string) ([]Target, error) {
	var targets []Target
	for _, text := range texts {
		some, err := ParseAfter(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", setting, err)
		}
		targets = append(targets, some...)
	}
	return targets, nil
}

func parseTarget(entry string) (Target, error) {
	parts := strings.Split(entry, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") || strings.ContainsAny(entry, " \t\r\n") {
		return Target{}, fmt.Errorf("%q names no object: write Kind/name or Kind.group/namespace/name", entry)
	}
	t := Target{Name: parts[len(parts)-1]}
	t.Kind, t.Group, t.Grouped = strings.Cut(parts[0], ".")
	if len(parts) == 3 {
		t.Namespace = parts[1]
	}
	if t.Kind == "" || t.Grouped && t.Group == "" {
		return Target{}, fmt.Errorf("%q has no kind or an empty group: write Kind/name or Kind.group/namespace/name", entry)
	}
	return t, nil
}

// Names reports whether the target means an object. Without a namespace it means those of all namespaces.
func (t Target) Names(id ID) bool {
	return t.Kind == id.Kind && t.Name == id.Name && (!t.Grouped || t.Group == id.Group) && (t.Namespace == "" || t.Namespace == id.Namespace)
}

// fits reports whether the target means an object, in an annotation of another.
func (t Target) fits(id, from ID) bool {
	near := id.Namespace == t.Namespace || t.Namespace == "" && id.Namespace == from.Namespace
	return t.Kind == id.Kind && t.Name == id.Name && (!t.Grouped || t.Group == id.Group) && (near || id.Namespace == "" && t.Namespace == "")
}

// target returns the name that fits this object alone.
func (id ID) target() string {
	return Target{Kind: id.Kind, Group: id.Group, Grouped: id.Group != "", Namespace: id.Namespace, Name: id.Name}.String()
}
