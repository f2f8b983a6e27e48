package relation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// As many relations of a namespace end by themselves at once, and as large a part of
// them, as one over so many; of more a person has to say so (SAFETY.md L6). What ends
// within a while ends at once: manifests are not deleted in one second.
const (
	mostEnds = 5
	endsPart = 5
	atOnce   = time.Hour
)

// tooManyEnd reports whether more relations would end at once than may without a
// person: rather than each of them somebody has lost what declared them all.
func (n *negotiation) tooManyEnd() bool {
	living, ends := 0, 0
	for i, r := range n.relations {
		if !r.Alive() {
			continue
		}
		living++
		if r.Declared && !n.declared[i] && r.Held() && !n.Now.Add(atOnce).Before(r.State.HeldSince.Add(r.State.Retain)) {
			ends++
		}
	}
	return ends > mostEnds && ends*endsPart > living
}

// overdue reports whether the time is over for which a relation is held.
func (n *negotiation) overdue(r Relation) bool {
	return r.Held() && !n.Now.Before(r.State.HeldSince.Add(r.State.Retain))
}

// heldOf names the relations that an application has by what it declared before, until when,
// and what is wrong with what it declares now.
func (n *negotiation) heldOf(a application.Application) []condition.Condition {
	var all []string
	for _, e := range a.Endpoints {
		for r := range n.of(a.Name) {
			if !r.Held() || !r.Alive() || r.Requirer != (End{n.Namespace, a.Name, e.Name}) {
				continue
			}
			text := fmt.Sprintf("%s is related to %s by an earlier declaration, until %s", e.Name, r.Provider.Written(n.Namespace), r.heldUntil())
			if _, wrong := n.blocked(a, e); wrong != "" {
				text += ": " + wrong
			}
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return []condition.Condition{{Type: condition.Held, True: true, Reason: ReasonDeclarationGone, Message: strings.Join(all, "; ")}}
}

// heldUntil is when a relation ends that nothing declares any more.
func (r Relation) heldUntil() string {
	return r.State.HeldSince.Add(r.State.Retain).UTC().Format(time.RFC3339)
}

// held says that nothing declares a relation any more, and what comes of it.
func (n *negotiation) held(r Relation) []condition.Condition {
	c := condition.Condition{Type: condition.Held, True: true, Reason: ReasonDeclarationGone,
		Message: fmt.Sprintf("nothing declares it any more: declare it again, or it ends at %s", r.heldUntil())}
	switch {
	case !r.Held() || r.State.EndReason != "":
		return nil
	case n.manyEnd && n.overdue(r):
		c.Reason = ReasonConfirm
		c.Message = fmt.Sprintf("nothing declares it any more, and its time is over; but too many relations of this namespace would end at once: "+
			"declare it again, or end it: kubectl -n %s delete relation %s", n.Namespace, r.Name)
	}
	return []condition.Condition{c}
}
