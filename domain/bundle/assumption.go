package bundle

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// HealthAssumed is true while an object counts as healthy about which nothing is known (CONTENT.md H5).
const HealthAssumed condition.Type = "HealthAssumed"

// Assumption is an object that counts as healthy since nothing speaks against it.
type Assumption struct {
	ID ID
	// Why describes what is not known.
	Why string
}

// String names the object, what is not known of it, and the probe that would tell.
func (a Assumption) String() string {
	group := ""
	if a.ID.Group != "" {
		group = "group: " + a.ID.Group + ", "
	}
	return fmt.Sprintf("%s counts as healthy without a sign of it: it %s; to have it judged, add to spec.healthChecks "+
		"{%skind: %s, ready: an expression over object.status}", a.ID, a.Why, group, a.ID.Kind)
}

// assumptions is the condition HealthAssumed, if there is anything to name.
func (s Standing) assumptions() []condition.Condition {
	if len(s.Next.Assumed) == 0 {
		return nil
	}
	text := s.Next.Assumed[0].String()
	if more := len(s.Next.Assumed) - 1; more > 0 {
		text += "; and " + counted(more, "more object", "more objects")
	}
	return []condition.Condition{condition.New(HealthAssumed, true, "NoEvidence", text)}
}

// assumed returns the finished items of a sequence whose health is not known.
func (s Sequence) assumed(finished map[ID]bool, live map[ID]Live) []Assumption {
	var all []Assumption
	for _, item := range s {
		if l := live[item.ID]; finished[item.ID] && l.Health == Unknown && !item.job() && !item.Kept {
			all = append(all, Assumption{item.ID, l.Says})
		}
	}
	return all
}
