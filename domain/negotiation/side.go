package negotiation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// pairSide is the side of one role of a pair.
type pairSide struct {
	relation.Key
	role application.Role
}

// sides have what is kept of both sides of relations, in this namespace and, of its own relations, in those of
// their providers. A pair has one of each role.
type sides map[pairSide]relation.Side

func (s sides) add(all []relation.Side) {
	for _, one := range all {
		s[pairSide{one.Key, one.Role}] = one
	}
}

// of returns the side of an end of a relation. The side of an earlier relation of the pair is another.
func (s sides) of(r relation.Relation, e relation.End) (relation.Side, bool) {
	one, there := s[pairSide{r.Key, r.Role(e)}]
	return one, there && one.Relation == r.UID
}

// both returns the sides of a pair.
func (s sides) both(k relation.Key) []relation.Side {
	var all []relation.Side
	for _, role := range []application.Role{application.Requirer, application.Provider, application.Peer} {
		if one, there := s[pairSide{k, role}]; there {
			all = append(all, one)
		}
	}
	return all
}

// owing returns the first side of a pair that owes the end of an earlier relation. The next relation of the
// pair waits for it (TRUST.md T2).
func (s sides) owing(k relation.Key) (relation.Side, bool) {
	for _, one := range s.both(k) {
		if one.Teardown != nil {
			return one, true
		}
	}
	return relation.Side{}, false
}

// outlived reports whether the namespace of a relation's provider, which has a UID now, was made again. A namespace with
// the provider's side of the relation was restored, and is the same (TRUST.md T8).
func (s sides) outlived(r relation.Relation, uid string, unreadable unknownSides) bool {
	_, restored := s.of(r, r.Provider)
	_, unknown := unreadable.of(r, r.Provider)
	return r.Abroad() && !restored && !unknown && r.Outlives(uid)
}

// newIdentity returns an identity for a relation of a pair, from a random seed.
func newIdentity(seed string, k relation.Key) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{seed, k.Requirer.String(), k.Provider.String(), k.Provider.Namespace}, "\n")))
	return hex.EncodeToString(sum[:16])
}

// again returns the identity of a relation that is made: that of the pair's last relation, if its sides are kept and it
// has not ended (TRUST.md T0), else the one that is given.
func (s sides) again(k relation.Key, given string) string {
	for _, one := range s.both(k) {
		if one.Teardown == nil {
			return one.Relation
		}
	}
	return given
}

// known returns the id of such a relation in a namespace; 0 for none.
func (s sides) known(k relation.Key, namespace string) int {
	for _, one := range s.both(k) {
		if one.Teardown == nil && one.Here().Namespace == namespace {
			return one.ID
		}
	}
	return 0
}

// owedBefore returns why the next relation of a pair waits. Units of another namespace are not named (SAFETY.md M7).
func owedBefore(namespace string, s relation.Side) string {
	if here := s.Here(); here.Namespace != namespace {
		return fmt.Sprintf("namespace %s has yet to handle the end of the relation before", here.Namespace)
	}
	return owedText(s) + ": the next relation waits for that"
}

// upkeep has what becomes of the sides of this namespace.
type upkeep struct {
	// dropped are those that owe nothing more, and whose relation is gone.
	dropped []relation.Side
	// all are those that stay, after that.
	all []relation.Side
	// recent has the latest ends of each provider.
	recent map[string][]relation.RecentEnd
	// lastID is the highest id of them.
	lastID int
	wake   time.Time
}

// kept lists the sides that are new or differ from those that are stored.
func (u upkeep) kept(stored sides) []relation.Side {
	return slices.DeleteFunc(slices.Clone(u.all), func(is relation.Side) bool {
		before, there := stored[pairSide{is.Key, is.Role}]
		return there && reflect.DeepEqual(before, is)
	})
}

// keeping is a run of keep.
type keeping struct {
	units
	upkeep
	// about has the names of the sides whose Relation exists.
	about map[string]bool
	debts debts
}

// keep gives each end of this namespace the side that it needs, and lets each debt run its course.
func keep(u units, l lives, settled relations) upkeep {
	k := keeping{u, upkeep{lastID: l.lastID}, map[string]bool{}, debtsOf(u.Sides)}
	for _, r := range settled.all {
		k.lastID = max(k.lastID, r.State.ID)
	}
	for _, r := range settled.all {
		for _, e := range r.Ends() {
			if e.Namespace == k.Namespace && r.State.ID > 0 {
				k.keep(r, e)
			}
		}
	}
	for _, r := range k.Consumers {
		if r.Opened() && r.State.ID > 0 {
			k.keep(r, r.Provider)
		}
	}
	for _, one := range u.Sides {
		if !k.about[one.Name()] {
			k.finish(one)
		}
	}
	return k.judged()
}

// judged returns the upkeep after the ends that are found now were judged together.
func (k *keeping) judged() upkeep {
	m := mass{k.units, k.about}
	held, recent := m.hold(k.all)
	is := k.upkeep
	is.all, is.recent = m.follow(held), recent
	return is
}

// keep keeps the side of one end of a relation that exists.
func (k *keeping) keep(r relation.Relation, e relation.End) {
	is, there := k.sides.of(r, e)
	if !there {
		_, taken := k.sides[pairSide{r.Key, r.Role(e)}]
		_, unknown := k.unreadable.pairs.pair(r.Key)
		_, unnumbered := k.unreadable.numbering()
		if taken || unknown || !k.needed(r, e) || unnumbered && r.Requirer.Namespace != k.Namespace {
			return
		}
		is = relation.Side{Key: r.Key, Role: r.Role(e), Relation: r.UID, ID: r.State.ID, Interface: r.Interface, Version: r.Version}
		if r.Requirer.Namespace != k.Namespace {
			k.lastID++
			is.ID = k.lastID
		}
	}
	if is.Teardown != nil && !r.Ended() {
		return // restored after its end, which runs its course first
	}
	is = k.noted(is, r)
	k.about[is.Name()] = true
	k.all = append(k.all, is)
}

// needed reports whether an end needs a side: it has units with handlers, or it provides to another namespace,
// under an id of its own.
func (k *keeping) needed(r relation.Relation, e relation.End) bool {
	return r.Requirer.Namespace != k.Namespace || !r.Ended() && k.handleNow(e)
}

// noted returns a side that has taken note of who hears of its relation, and of the end.
func (k *keeping) noted(s relation.Side, r relation.Relation) relation.Side {
	switch {
	case s.Teardown != nil:
		return k.answered(k.paid(s))
	case !r.Ended():
		s.Known = s.Known || k.handleNow(s.Here())
	case s.Known && !k.debts.mayOwe(s, k.Namespace): // the Relation waits
	default:
		s = s.Ended(r, k.Now, r.State.EndReason, k.of)
		if s.Known {
			k.debts[debtor(s)]++
		}
		if s.Choice == relation.ChoiceKeep { // it was about an earlier end
			s.Choice = ""
		}
	}
	return k.answered(s)
}

// answered returns a side after what a person decided about its end, which comes then.
func (k *keeping) answered(s relation.Side) relation.Side {
	if s.Teardown == nil {
		return s
	}
	t := *s.Teardown
	decided := s.Decision()
	if t.Held && (decided == relation.ChoiceConfirm || decided == relation.ChoiceWaive) {
		t.Held, t.Since = false, k.Now
	}
	if decided == relation.ChoiceWaive {
		t.Debt = conversation.Debt{Handled: true}
	}
	s.Teardown = &t
	return s
}

// finish lets the debt of a side run its course when the Relation is gone. A provider's lasts until it is handled,
// that of others no longer than handlers may take (RELATIONS.md L4). A side without an end is kept: its relation is
// lost and may be restored (TRUST.md T5, T7).
func (k *keeping) finish(before relation.Side) {
	is := k.answered(k.paid(before))
	if is.Held() {
		if is.Decision() == relation.ChoiceKeep { // others follow
			is.Teardown = nil
		}
	} else if is.Teardown != nil {
		over := is.Teardown.Since.Add(handling)
		late := is.Role != application.Provider && !k.Now.Before(over)
		heard := k.heard(is)
		switch {
		case is.Teardown.Over() && !k.Now.Before(heard) || late:
			k.dropped = append(k.dropped, is)
			return
		case is.Teardown.Over():
			k.wake = soonest(k.wake, heard)
		case is.Role != application.Provider:
			k.wake = soonest(k.wake, over)
		}
	}
	k.all = append(k.all, is)
}

// heard returns when agents without handlers at the other end have heard of an end that a person has decided about: they
// hear of it by this side, if the Relation is gone. It is the zero time if there are none.
func (k *keeping) heard(s relation.Side) time.Time {
	alone := func(unit application.Unit) bool { return unit.Gone == "" && !unit.Handles }
	here := s.Requirer.Namespace == k.Namespace
	if s.Role != application.Provider || s.Decision() == "" || here && !slices.ContainsFunc(k.of(s.Requirer), alone) {
		return time.Time{}
	}
	return s.Teardown.Since.Add(hearing)
}

// paid returns a side whose end is owed to the units that are still there and have handlers.
func (k *keeping) paid(s relation.Side) relation.Side {
	if s.Teardown != nil {
		if late := s.Teardown.Since.Add(hearing); k.Now.Before(late) {
			k.wake = soonest(k.wake, late) // then the application shows it
		}
		t := *s.Teardown
		t.Debt = t.Without(func(unit conversation.Unit) bool { return !k.mayAnswer(s.Here(), unit.Number) })
		s.Teardown = &t
	}
	return s
}

// handleNow reports whether a unit of an end has handlers.
func (u units) handleNow(e relation.End) bool { return len(relation.Hearers(e, u.of(e))) > 0 }

// mayAnswer reports whether a unit of an end is there and has handlers: a pod may have taken the place of one that had.
func (u units) mayAnswer(e relation.End, number int) bool {
	return slices.ContainsFunc(u.of(e), func(unit application.Unit) bool {
		return unit.Gone == "" && unit.Handles && unit.Number == number
	})
}
