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
		texts = append(texts, item.Origin.String(), item.Digest)
	}
	return digest(texts...)
}

// approved is what somebody approves: all that the planDigest is made of. Versions of
// live objects are not in it: the list of actions is.
type approved struct {
	Cluster, UID string
	Base, Back   int
	Manifest     string
	Actions      []string
	Order        []string
	Probes       []Probe
}

func (p Plan) digest() string {
	a := approved{Cluster: p.Cluster, UID: p.UID, Base: p.Base, Back: p.Back, Manifest: p.ManifestDigest, Actions: p.lines(), Probes: p.Probes}
	for _, item := range p.Sequence {
		a.Order = append(a.Order, fmt.Sprintf("%s %s %v", item.Phase, item.ID, item.After))
	}
	text, err := json.Marshal(a)
	if err != nil {
		return "" // texts and numbers alone: there is no such error
	}
	return digest(string(text))
}

// lines are the actions and conflicts as they are approved and compared.
func (p Plan) lines() []string {
	var all []string
	for _, a := range p.Actions {
		line := string(a.Verb) + " " + a.ID.String()
		if a.Replaces != "" {
			line += " in place of what is there"
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
	// Differences are what is planned no more and what is new, in words.
	Differences []string
}

// Error lists the differences.
func (e *ChangedError) Error() string {
	return "cannot carry out the plan, what would be done has changed: " + strings.Join(e.Differences, "; ") + ": look at the new plan and approve that"
}

// Changed returns a ChangedError if the plan as it would be made now differs from p.
func (p Plan) Changed(now Plan) error {
	if p.Digest == now.Digest {
		return nil
	}
	var differences []string
	for name, same := range map[string]bool{
		"it is another cluster": p.Cluster == now.Cluster, "it is another deployment": p.UID == now.UID, "the revision before is another": p.Base == now.Base && p.Back == now.Back,
		"the content is another": p.ManifestDigest == now.ManifestDigest, "the probes are others": slices.Equal(p.Probes, now.Probes),
	} {
		if !same {
			differences = append(differences, name)
		}
	}
	slices.Sort(differences)
	before, after := p.lines(), now.lines()
	for _, line := range before {
		if !slices.Contains(after, line) {
			differences = append(differences, "no more: "+line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			differences = append(differences, "now: "+line)
		}
	}
	if len(differences) == 0 {
		differences = append(differences, "the order is another")
	}
	return &ChangedError{differences}
}
