package bundle

import "fmt"

// Preview is a plan as it is read before it is carried out: printed as JSON, judged by a
// policy, shown on a page. It holds nothing that a Secret holds (BUNDLES.md 10). Lists are
// empty, never null, and every field is always there.
type Preview struct {
	// Deployment is namespace/name, Base the revision that is changed, 0 for none.
	Deployment string `json:"deployment"`
	Base       int    `json:"base"`
	// Back is the revision whose content comes back; 0 where that is not so.
	Back   int    `json:"back"`
	Digest string `json:"digest"`
	// Actions are in the order in which they are done, with those that change nothing.
	Actions []PreviewAction `json:"actions"`
	Grants  []PreviewGrant  `json:"grants"`
	// Unverified lists the objects that a dry run could not check.
	Unverified []PreviewUnverified `json:"unverified"`
	Holds      []PreviewHold       `json:"holds"`
	// Conflicts are in words.
	Conflicts []string `json:"conflicts"`
	// Refused are the rules of a policy that do not allow the plan.
	Refused []Refusal `json:"refused"`
}

// PreviewObject names an object. The core group, and the namespace of an object of the whole cluster, are empty.
type PreviewObject struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// PreviewAction is the change to one object.
type PreviewAction struct {
	PreviewObject

	// Verb is create, update, adopt, take, recreate, run, delete, keep, give back or none.
	Verb  Verb   `json:"verb"`
	Phase string `json:"phase"`
	Why   string `json:"why"`
	// Restarts says that its pods start anew, Pods how many it has now.
	Restarts bool `json:"restarts"`
	Pods     int  `json:"pods"`
	// Takes are the paths of fields that are taken from other managers.
	Takes   []string        `json:"takes"`
	Changes []PreviewChange `json:"changes"`
}

// PreviewChange is one field. Before and After are JSON, and empty for nothing.
type PreviewChange struct {
	Path   string `json:"path"`
	Before string `json:"before"`
	After  string `json:"after"`
	// Manager names the manager of the live value; empty for this deployment.
	Manager string `json:"manager"`
}

// PreviewGrant is a permission that is given; Words say all of it.
type PreviewGrant struct {
	Words string `json:"words"`
	To    string `json:"to"`
	// Verbs, Groups, Resources, Names and URLs are as in a role.
	Verbs     []string `json:"verbs"`
	Groups    []string `json:"groups"`
	Resources []string `json:"resources"`
	Names     []string `json:"names"`
	URLs      []string `json:"urls"`
	// Namespace is empty for all, and Bound says that it counts where they are bound.
	Namespace string `json:"namespace"`
	Bound     bool   `json:"bound"`
	// Everything reports that the grant has no limit; Unknown that the role could not be read.
	Everything bool `json:"everything"`
	Unknown    bool `json:"unknown"`
}

// PreviewUnverified is an object that is judged only after a phase.
type PreviewUnverified struct {
	PreviewObject

	After string `json:"after"`
	Why   string `json:"why"`
}

// PreviewHold waits for a person.
type PreviewHold struct {
	Reason Reason `json:"reason"`
	Words  string `json:"words"`
	// Flags are the arguments that confirm it.
	Flags []string `json:"flags"`
}

// Preview returns the plan as it is read.
func (p Plan) Preview() Preview {
	v := Preview{
		Deployment: p.Owner, Base: p.Base, Back: p.Back, Digest: p.Digest,
		Actions: []PreviewAction{}, Grants: []PreviewGrant{}, Unverified: []PreviewUnverified{}, Holds: []PreviewHold{}, Conflicts: []string{},
		Refused: append([]Refusal{}, p.Refused...),
	}
	for _, a := range p.Actions {
		v.Actions = append(v.Actions, a.preview())
	}
	for _, g := range p.Grants {
		v.Grants = append(v.Grants, g.preview())
	}
	for _, u := range p.Unverified {
		v.Unverified = append(v.Unverified, PreviewUnverified{PreviewObject(u.ID), u.After.String(), u.Why})
	}
	for _, h := range p.Holds {
		v.Holds = append(v.Holds, PreviewHold{h.Reason, h.Words(), h.Flags()})
	}
	for _, c := range p.Conflicts {
		v.Conflicts = append(v.Conflicts, c.Words(conflictsFlag))
	}
	return v
}

func (a Action) preview() PreviewAction {
	v := PreviewAction{
		PreviewObject: PreviewObject(a.ID), Verb: a.Verb, Phase: a.Phase.String(), Why: a.Why,
		Restarts: a.Restarts, Pods: a.Pods, Takes: listed(a.Force), Changes: []PreviewChange{},
	}
	for _, c := range a.Changes {
		v.Changes = append(v.Changes, PreviewChange{c.Path, c.Before, c.After, c.Manager})
	}
	return v
}

func (g Grant) preview() PreviewGrant {
	return PreviewGrant{
		Words: g.String(), To: g.To, Verbs: listed(g.Rule.Verbs), Groups: listed(g.Rule.Groups), Resources: listed(g.Rule.Resources),
		Names: listed(g.Rule.Names), URLs: listed(g.Rule.URLs), Namespace: g.Namespace, Bound: g.Bound, Everything: g.Everything(), Unknown: g.Unknown,
	}
}

func listed(texts []string) []string { return append([]string{}, texts...) }

// Remarks returns what a person should know of the action besides its verb; empty for nothing.
func (a PreviewAction) Remarks() []string {
	var all []string
	if a.Why != "" {
		all = append(all, a.Why)
	}
	switch {
	case a.Restarts && a.Pods == 1:
		all = append(all, "its pod restarts")
	case a.Restarts && a.Pods > 1:
		all = append(all, fmt.Sprintf("its %d pods restart", a.Pods))
	case a.Restarts:
		all = append(all, "its pods restart")
	}
	for _, path := range a.Takes {
		all = append(all, "takes over "+path)
	}
	return all
}

// String names the object as ID does.
func (o PreviewObject) String() string { return ID(o).String() }
