package bundle

import "slices"

// Unverified is an object that no dry run can check yet.
type Unverified struct {
	ID ID
	// After is the phase after which it can be.
	After Phase
	Why   string
}

func (d *drafting) unverified(id ID, after Phase, why string) {
	d.plan.Unverified = append(d.plan.Unverified, Unverified{ID: id, After: after, Why: why})
}

// judges notes the objects that webhooks of the bundle, which cannot be called yet, will judge: those written after
// them and in one of their groups.
func (d *drafting) judges() {
	for _, hook := range d.plan.Sequence {
		if hook.Phase != Webhooks || d.Live[hook.ID].Object != nil {
			continue
		}
		groups := hook.Object.judged()
		for _, item := range d.plan.Sequence {
			if item.Phase > Webhooks && has(groups, item.ID.Group) && !item.Kept {
				d.unverified(item.ID, Webhooks, "webhook "+hook.ID.Name+" of the bundle may refuse it, and does not exist yet")
			}
		}
	}
}

// judged returns the groups that a webhook configuration covers.
func (o Object) judged() []string {
	var groups []string
	for _, hook := range list(o.At("webhooks")) {
		fields, _ := hook.(map[string]any)
		for _, one := range list(fields["rules"]) {
			rule, _ := one.(map[string]any)
			groups = append(groups, texts(rule["apiGroups"])...)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// bound notes a binding whose role the bundle makes: whether the account may give that is
// asked when it is there.
func (d *drafting) bound(item Item) {
	of := refers(item.Object)
	ours := slices.ContainsFunc(d.plan.Sequence, func(other Item) bool { return other.ID == of })
	if ours && d.Live[of].Object == nil {
		d.unverified(item.ID, Roles, "the bundle creates its role")
	}
}
