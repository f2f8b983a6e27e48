package bundle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Digest returns the manifestDigest: that of the objects in their order as their author
// wrote them, as hexadecimal SHA-256 (BUNDLES.md, Digests).
func (s Sequence) Digest() string {
	var texts []string
	for _, item := range s {
		texts = append(texts, item.Origin.canonical(), item.Digest)
	}
	return digest(texts...)
}

// approved holds all that an approval covers and the planDigest is made from. Versions of live objects are not in it:
// the list of actions is.
type approved struct {
	Cluster, UID string
	Base, Back   int
	Manifest     string
	Actions      []string
	Order        []string
	Probes       []Probe
	// Originals are the digests of those that are given back.
	Originals []string `json:",omitempty"`
}

func (p Plan) digest() string {
	a := approved{Cluster: p.Cluster, UID: p.UID, Base: p.Base, Back: p.Back, Manifest: p.ManifestDigest,
		Actions: p.lines(ID.canonical), Probes: p.Probes}
	for _, action := range p.Actions {
		if action.Original != "" {
			a.Originals = append(a.Originals, action.Original)
		}
	}
	for _, item := range p.Sequence {
		var after []string
		for _, e := range item.After {
			after = append(after, fmt.Sprintf("{%s %t %s}", e.To.canonical(), e.Serving, e.Why))
		}
		a.Order = append(a.Order, fmt.Sprintf("%s %s [%s]", item.Phase, item.ID.canonical(), strings.Join(after, " ")))
	}
	text, err := json.Marshal(a)
	if err != nil {
		return "" // texts and numbers alone: there is no such error
	}
	return digest(string(text))
}

// replaces is hashed into plan digests: other words would void every waiting approval.
const replaces = " in place of what is there"

// lines returns the actions and conflicts, one line each; named writes an object's name.
func (p Plan) lines(named func(ID) string) []string {
	var all []string
	for _, a := range p.Actions {
		line := string(a.Verb) + " " + named(a.ID)
		if a.Replaces != "" {
			line += replaces
		}
		if a.Follows != (ID{}) {
			line += " after " + named(a.Follows)
		}
		if len(a.Force) > 0 {
			line += " taking " + strings.Join(a.Force, ", ")
		}
		all = append(all, line)
	}
	for _, c := range p.Conflicts {
		all = append(all, "conflict: "+c.String())
	}
	return all
}

// ChangedError says that what would be done now is not what was planned: an approval of
// the plan is void.
type ChangedError struct {
	// Differences lists in words what is no longer planned and what is new.
	Differences []string
}

// Error lists the differences.
func (e *ChangedError) Error() string {
	return "the plan has changed: " + strings.Join(e.Differences, "; ") + ": look at the new plan and approve that one"
}

// Changed returns a ChangedError if the plan as it would be made now differs from p.
func (p Plan) Changed(now Plan) error {
	if p.Digest == now.Digest {
		return nil
	}
	var differences []string
	for name, same := range map[string]bool{
		"another cluster": p.Cluster == now.Cluster, "another deployment": p.UID == now.UID,
		"another base revision": p.Base == now.Base && p.Back == now.Back,
		"another content":       p.ManifestDigest == now.ManifestDigest, "other health checks": slices.Equal(p.Probes, now.Probes),
	} {
		if !same {
			differences = append(differences, name)
		}
	}
	slices.Sort(differences)
	before, after := p.lines(ID.String), now.lines(ID.String)
	for _, line := range before {
		if !slices.Contains(after, line) {
			differences = append(differences, "no longer: "+line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			differences = append(differences, "now: "+line)
		}
	}
	if len(differences) == 0 {
		differences = append(differences, "another order")
	}
	return &ChangedError{differences}
}
