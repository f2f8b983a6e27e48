package negotiation

import (
	"cmp"
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

// life returns a relation held if its declaration has vanished, going on if the
// declaration is back and its place is free, and ended when its time is over
// (SAFETY.md L5). While it is declared and another relation has its place, it stays held
// and its time does not run (RELATIONS.md M3).
func (n *negotiation) life(r Relation, declared bool) Relation {
	full := ""
	if r.Held() && declared {
		full = n.full(r.Key)
	}
	switch {
	case !r.Alive() || !r.Declared:
	case full != "":
		r.State.HeldReason = ReasonLimit
		n.refuse(r.Key, full)
	case declared:
		r.State.HeldSince, r.State.HeldReason = time.Time{}, ""
		r.State.Retain = n.retain(r.Key)
	case !r.Held() || r.State.HeldReason == ReasonLimit:
		r.State.HeldSince, r.State.HeldReason = n.Now, ReasonDeclarationGone
		n.wakeAt(n.Now.Add(r.State.Retain))
	case !n.overdue(r):
		n.wakeAt(r.State.HeldSince.Add(r.State.Retain))
	case !n.manyEnd:
		r.State.EndReason = ReasonDeclarationGone
	}
	return r
}

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

// heldOf names the relations that an application has only because they are held, and why
// what it declares now does not take their place.
func (n *negotiation) heldOf(a application.Application) []condition.Condition {
	var all []string
	why := ""
	for _, e := range a.Endpoints {
		for r := range n.of(a.Name) {
			if !r.Held() || !r.Alive() || r.Requirer != (End{n.Namespace, a.Name, e.Name}) {
				continue
			}
			text := fmt.Sprintf("the relation of %s with %s is held", e.Name, r.Provider.Written(n.Namespace))
			if r.State.HeldReason != ReasonLimit {
				text += fmt.Sprintf(" until %s, because nothing declares it any more", r.heldUntil())
			}
			if _, wrong := n.blocked(a, e); wrong != "" {
				text += ": " + wrong
			}
			all, why = append(all, text), cmp.Or(why, r.State.HeldReason, ReasonDeclarationGone)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return []condition.Condition{{Type: condition.Held, True: true, Reason: why, Message: strings.Join(all, "; ")}}
}

// heldUntil returns when a relation ends that nothing declares any more.
func (r Relation) heldUntil() string {
	return r.State.HeldSince.Add(r.State.Retain).UTC().Format(time.RFC3339)
}

// held returns why a relation is held, and what comes of it.
func (n *negotiation) held(r Relation) []condition.Condition {
	if !r.Held() || r.State.EndReason != "" {
		return nil
	}
	c := condition.Condition{Type: condition.Held, True: true, Reason: ReasonDeclarationGone,
		Message: fmt.Sprintf("nothing declares the relation any more: declare it again, or it ends at %s; "+
			"to end it now: kubectl -n %s delete relation %s", r.heldUntil(), n.Namespace, r.Name)}
	switch {
	case r.State.HeldReason == ReasonLimit:
		c.Reason = ReasonLimit
		c.Message = "the relation is declared again, but " + n.full(r.Key)
	case n.manyEnd && n.overdue(r):
		c.Reason = ReasonConfirm
		c.Message = fmt.Sprintf("nothing declares the relation any more and its time is over, but too many relations of this namespace "+
			"would end at once: "+
			"declare it again, or end it: kubectl -n %s delete relation %s", n.Namespace, r.Name)
	}
	return []condition.Condition{c}
}
