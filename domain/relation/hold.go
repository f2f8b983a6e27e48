package relation

import (
	"fmt"
	"time"

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

// held says that nothing declares a relation any more, and what comes of it.
func (n *negotiation) held(r Relation) []condition.Condition {
	c := condition.Condition{Type: condition.Held, True: true, Reason: ReasonDeclarationGone,
		Message: "nothing declares it any more: declare it again, or it ends when its time is over"}
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
