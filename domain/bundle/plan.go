package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Verb is the kind of change to an object.
type Verb string

// The verbs of a plan.
const (
	Create   Verb = "create"
	Update   Verb = "update"
	Adopt    Verb = "adopt"
	Take     Verb = "take"
	Recreate Verb = "recreate"
	Delete   Verb = "delete"
	// Keep releases an object that has left the bundle: it stays where it is.
	Keep Verb = "keep"
	// GiveBack leaves an adopted object as it was before.
	GiveBack Verb = "give back"
	// Release leaves an object as it is, without Orcon's marks.
	Release Verb = "release"
	// Run runs a Job.
	Run  Verb = "run"
	None Verb = "none"
)

// Action is the change that a plan makes to one object.
type Action struct {
	Verb  Verb
	ID    ID
	Phase Phase
	Depth int
	// Why explains what is not obvious; for people.
	Why string
	// Changes are the fields that change, without what is secret.
	Changes []Change
	// Force are the paths of fields that are taken from other managers, and no others.
	Force []string
	// Replaces is the UID of the object that is deleted before it is created anew.
	Replaces string
	// Follows is the workload that is deleted before this one is created; zero where there is none.
	Follows ID
	// Original is the digest of the original that is given back.
	Original string
	// Restarts says that pods start anew, Pods how many there are now.
	Restarts bool
	Pods     int
}

// Probe says when objects of a kind are healthy, in CEL.
type Probe struct{ Group, Kind, Ready, Failed string }

// Intent is all that a plan is made of.
type Intent struct {
	// Cluster is the UID of namespace kube-system; UID that of the deployment.
	Cluster, UID string
	// Owner is the deployment, as namespace/name.
	Owner    string
	Sequence Sequence
	Probes   []Probe
	// Live has each object of the sequence and of the inventory.
	Live   map[ID]Live
	Record Record
	// Conflicts is Prevent where it is empty.
	Conflicts ConflictPolicy
	// KindChange is DeleteLast where it is empty.
	KindChange KindChange
	// ConfirmKinds are further kinds, as Kind or Kind.group, whose deletion a person confirms.
	ConfirmKinds []string
	// MaxDeletions is how many objects may leave without a person; 10 where it is 0, and
	// none where it is negative.
	MaxDeletions int
	// Uninstall reports that everything is to go: the sequence is empty on purpose.
	Uninstall bool
	// Skip names Jobs that an uninstallation does not run.
	Skip []Target
	// Back is the revision whose content comes back, and 0 otherwise.
	Back int
	// Now is the time of the plan.
	Now time.Time
}

// Plan lists the changes that a deployment would make, and everything else that its approval covers.
type Plan struct {
	Cluster, UID, Owner string
	// Base is the revision that it changes, the last healthy one; 0 for none.
	Base     int
	Back     int
	Sequence Sequence
	Probes   []Probe
	// Actions are in the order in which they are done, deletions last.
	Actions    []Action
	Conflicts  []Conflict
	Holds      []Hold
	Unverified []Unverified
	// Grants are the permissions that it gives.
	Grants []Grant
	// Refused lists the objections of a policy, if one was consulted.
	Refused []Refusal
	// ManifestDigest is that of the objects, Digest that of the plan.
	ManifestDigest, Digest string
}

// NewPlan compares a bundle with what is live. The error names objects whose kind
// neither the cluster nor the bundle has.
func NewPlan(in Intent) (Plan, error) {
	d := drafting{Intent: in, policy: cmp.Or(in.Conflicts, Prevent), plan: Plan{
		Cluster: in.Cluster, UID: in.UID, Owner: in.Owner, Back: in.Back, Probes: in.Probes,
		ManifestDigest: in.Sequence.Digest(),
	}}
	d.plan.Base, _ = in.Record.Healthy()
	d.definitions, d.namespaces = pending(in)
	for _, item := range in.Sequence {
		item = item.turn(d.changes())
		d.plan.Sequence = append(d.plan.Sequence, item)
		d.item(item)
	}
	d.plan.Actions = append(d.plan.Actions, finally(in)...)
	d.remove()
	d.hold()
	d.judges()
	d.plan.Grants = d.grants()
	d.plan.Digest = d.plan.digest()
	return d.plan, errors.Join(d.faults...)
}

// changes returns the healthy revision that this one changes, 0 for a first installation. As long as the content is that
// of the healthy one it is the revision that this changed, so that its Jobs are those that it ran.
func (d *drafting) changes() int {
	for _, r := range d.Record.Revisions {
		if r.Number == d.plan.Base && r.ManifestDigest == d.plan.ManifestDigest {
			return r.Base
		}
	}
	return d.plan.Base
}

// Changes reports whether the plan does anything.
func (p Plan) Changes() bool {
	return slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Verb != None })
}

// drafting is one run of NewPlan.
type drafting struct {
	Intent
	policy ConflictPolicy
	plan   Plan
	faults []error
	// definitions and namespaces are those of the bundle that are not live yet.
	definitions, namespaces map[ID]bool
}

// pending returns the kinds and the namespaces that the bundle itself brings.
func pending(in Intent) (definitions, namespaces map[ID]bool) {
	definitions, namespaces = map[ID]bool{}, map[ID]bool{}
	for _, item := range in.Sequence {
		switch there := in.Live[item.ID].Object != nil; {
		case there:
		case item.ID.kind() == definition:
			definitions[ID{Group: item.Object.Text("spec", "group"), Kind: item.Object.Text("spec", "names", "kind")}] = true
		case item.ID.kind() == "Namespace":
			namespaces[ID{Name: item.ID.Name}] = true
		}
	}
	return definitions, namespaces
}

// item decides what is done with one object of the bundle.
func (d *drafting) item(item Item) {
	l := d.Live[item.ID]
	a := Action{ID: item.ID, Phase: item.Phase, Depth: item.Depth}
	switch defined, served := d.definitions[ID{Group: item.ID.Group, Kind: item.ID.Kind}], l.NoAPI && d.Sequence.serves(item); {
	case defined || served:
		d.unverified(item.ID, CRDs, "the bundle defines its kind")
		if a.Verb = Create; !defined && recorded(d.Record.Inventory, item.ID) { // in a version that the cluster has
			a.Verb = Update
		}
	case l.NoAPI && item.Optional:
		a.Verb, a.Why = None, "skipped: the cluster does not have this kind"
	case l.NoAPI:
		d.faults = append(d.faults, fmt.Errorf("cannot plan %s: the cluster does not have this kind: install its CustomResourceDefinition "+
			"first, or annotate it with %s: %s", item.ID, OptionalKey, ifPresent))
		return
	case d.namespaces[ID{Name: item.ID.Namespace}] && item.ID.Namespace != "":
		d.unverified(item.ID, Namespaces, "the bundle creates its namespace")
		a = d.decide(a, item, l)
	default:
		a = d.decide(a, item, l)
	}
	d.plan.Actions = append(d.plan.Actions, a)
}

// decide says what is done with an object whose kind the cluster knows.
func (d *drafting) decide(a Action, item Item, l Live) Action {
	situation, holder := l.Situation(d.Owner)
	switch {
	case item.Kept && situation != Absent:
		a.Verb, a.Why = None, "kept as it is during a rollback"
	case item.job() && (item.Kept || d.Record.completed(item)):
		a.Verb, a.Why = None, item.Run.idle(d.changes())
	case situation == Absent && item.job():
		a.Verb = Run
	case situation == Absent:
		a.Verb = Create
		a.Follows, a.Why = d.predecessor(item)
	case situation != Ours:
		return d.claim(a, item, l, situation, holder)
	case item.job():
		return again(a, l)
	case l.leaving():
		a.Verb, a.Why, a.Replaces = Recreate, "is being deleted", l.uid()
	case l.Immutable != "":
		a.Verb, a.Why, a.Replaces = Recreate, l.Immutable, l.uid()
	case item.applied(d.Owner, l):
		a.Verb = None
	default:
		a.Verb = Update
	}
	return d.fields(a, l)
}

// again says what becomes of a Job that is there: one that failed runs once more.
func again(a Action, l Live) Action {
	switch {
	case ended(l.Object) == failed:
		a.Verb, a.Why, a.Replaces = Run, "failed before", l.uid()
	case l.leaving():
		a.Verb, a.Why, a.Replaces = Run, "is being deleted", l.uid()
	default:
		a.Verb, a.Why = None, "exists"
	}
	return a
}

// fields adds to an action what it changes, and whose fields it takes.
func (d *drafting) fields(a Action, l Live) Action {
	take := d.policy == TakeAll
	if contested := slices.DeleteFunc(slices.Clone(l.Changes), func(c Change) bool { return !c.contested() }); len(contested) > 0 && !take {
		d.contest(a.ID, contested)
	}
	a.Changes, a.Force = shown(a.ID, l.Changes), forced(l.Changes, take)
	a.Restarts, a.Pods = a.restarts(l)
	return a
}
