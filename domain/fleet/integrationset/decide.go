package integrationset

import (
	"cmp"
	"fmt"
	"slices"
)

// Situation is all that a decision depends on.
type Situation struct {
	Wanted []Wanted
	// Standing are the members that are wanted, those that the data surely no longer declare, and those that another set
	// claims. Others go on as they are, and are nothing to decide about.
	Standing []Standing
	Guard    Guard
	// Ending reports that the set is being deleted with its members.
	Ending bool
	// Confirmed are the losses that a person has confirmed: how many workloads each member may lose.
	Confirmed map[Key]int
	// LastConfirmed is the digest that was confirmed last: the same removal has another one the next time.
	LastConfirmed string
	// Command confirms a removal; its digest follows.
	Command string
	// MaxUnavailable bounds the members that are not ready while others are changed; 0 does not.
	MaxUnavailable int
}

// Verb names a write.
type Verb string

// The verbs.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
	// Claim tells the set of a member that this set wants it too, and Withdraw that it no longer does.
	Claim    Verb = "claim"
	Withdraw Verb = "withdraw the claim to"
	// HandOver gives a member to a set that claims it.
	HandOver Verb = "hand over"
)

// Step is one write.
type Step struct {
	Verb Verb
	Key
}

// Wait is a member that is not what the data declare, and why.
type Wait struct {
	Key
	Why string
	// Person reports that it lasts until a person acts.
	Person bool
}

// Decision lists the writes to make now, and what waits. Without both the set is settled.
type Decision struct {
	Steps []Step
	Waits []Wait
	// Removal waits for a person; nil if nothing has to be confirmed.
	Removal *Removal
}

// decider is a decision in the making.
type decider struct {
	Situation
	standing map[Key]Standing
	wanted   map[Key]Wanted
	// unready counts the members that are not ready, as they will be after the steps so far.
	unready int
	// lost are the workloads that each member would lose.
	lost map[Key]int
	Decision
}

// Decide returns what to do now. Members of a wave are made and changed when all of the waves before are as declared
// and ready. A member goes when the data no longer declare it, and the guard lets it or a person has confirmed it; waves
// do not delay that. The member as which the controller itself runs loses a workload only after a confirmation.
func Decide(s Situation) Decision {
	d := decide(s)
	d.lost = d.losses()
	d.Removal = s.removal(d.lost)
	d.change()
	d.remove()
	return d.Decision
}

// decide returns a decision in which nothing is decided yet.
func decide(s Situation) *decider {
	d := &decider{Situation: s, standing: map[Key]Standing{}, wanted: map[Key]Wanted{}}
	for _, m := range s.Standing {
		d.standing[m.Key] = m
		if m.State != Ready && m.Set == "" {
			d.unready++
		}
	}
	for _, w := range s.Wanted {
		d.wanted[w.Key] = w
	}
	return d
}

// Outdated returns the members whose confirmed losses are no longer due: they stand and lose nothing, so that the loss has come
// about, or was taken back. The next one waits for a person again.
func (s Situation) Outdated() map[Key]bool {
	d, outdated := decide(s), map[Key]bool{}
	losses := d.losses()
	for k := range s.Confirmed {
		_, stands := d.standing[k]
		_, loses := losses[k]
		outdated[k] = stands && !loses && d.wanted[k].Waits == ""
	}
	return outdated
}

// losses returns how many workloads each member would lose. Deletions that have begun do not count, and members of
// other sets, that another set goes on with, or that stay as they are lose none. The controller's own member loses all
// where it moves to another namespace.
func (d *decider) losses() map[Key]int {
	losses := map[Key]int{}
	for k, m := range d.standing {
		w, stays := d.wanted[k]
		switch {
		case m.Ending, m.Set != "", !stays && len(m.Claims) > 0, stays && (w.Digest == m.Digest || w.Waits != ""):
		case m.Own && stays && !w.Own:
			losses[k] = m.Workloads
		case !stays, w.Workloads < m.Workloads:
			losses[k] = m.Workloads - w.Workloads
		}
	}
	return losses
}

// change makes and changes members, wave by wave.
func (d *decider) change() {
	d.contested()
	wanted := slices.SortedFunc(slices.Values(d.Wanted), func(a, b Wanted) int {
		return cmp.Or(cmp.Compare(a.Wave, b.Wave), d.readiness(a.Key)-d.readiness(b.Key), a.Compare(b.Key))
	})
	var open *Wanted // of an earlier wave, not done
	for i, w := range wanted {
		if open != nil && open.Wave < w.Wave {
			if d.differs(w) {
				d.wait(w.Key, fmt.Sprintf("waits for %s of wave %d", open.Key, open.Wave+1))
			}
			continue
		}
		if !d.advance(w) && open == nil {
			open = &wanted[i]
		}
	}
}

// readiness orders members of a wave: those that are not ready come first, since to change them makes nothing worse.
func (d *decider) readiness(k Key) int {
	if m, stands := d.standing[k]; stands && m.State == Ready {
		return 1
	}
	return 0
}

// differs reports whether a member is not as declared.
func (d *decider) differs(w Wanted) bool {
	m, stands := d.standing[w.Key]
	return !stands || m.Ending || m.Digest != w.Digest
}

// advance takes the next step for a member, and reports whether nothing is left to do or to wait for.
func (d *decider) advance(w Wanted) bool {
	m, stands := d.standing[w.Key]
	_, loses := d.lost[w.Key]
	switch {
	case stands && m.Ending:
		d.wait(w.Key, "waits for the end of the member that is being deleted")
	case w.Waits != "":
		d.wait(w.Key, w.Waits)
	case m.Set != "":
		return d.share(w, m)
	case !d.differs(w):
		return m.State == Ready
	case loses && d.Removal != nil:
		d.wait(w.Key, d.Removal.String())
	case stands && m.State != Ready:
		d.step(Update, w.Key)
	case d.MaxUnavailable > 0 && d.unready >= d.MaxUnavailable:
		d.wait(w.Key, fmt.Sprintf("waits until fewer than %d members are not ready", d.MaxUnavailable))
	default:
		d.step(verb(stands), w.Key)
		d.unready++
	}
	return false
}

// verb returns what makes a member as declared.
func verb(stands bool) Verb {
	if stands {
		return Update
	}
	return Create
}

// remove deletes what is no longer declared, or gives it to the set that claims it.
func (d *decider) remove() {
	for _, m := range slices.SortedFunc(slices.Values(d.Standing), func(a, b Standing) int { return a.Compare(b.Key) }) {
		_, stays := d.wanted[m.Key]
		switch {
		case stays, m.Set != "" && !m.Claimed:
		case m.Set != "":
			d.step(Withdraw, m.Key)
		case len(m.Claims) > 0 && !m.Ending:
			d.step(HandOver, m.Key)
		case m.Ending:
			d.wait(m.Key, "is being deleted")
		case d.Removal != nil:
			d.wait(m.Key, d.Removal.String())
		default:
			d.step(Delete, m.Key)
		}
	}
}

func (d *decider) step(v Verb, k Key) { d.Steps = append(d.Steps, Step{v, k}) }

func (d *decider) wait(k Key, why string) { d.Waits = append(d.Waits, Wait{Key: k, Why: why}) }

// need notes a wait that lasts until a person acts.
func (d *decider) need(k Key, why string) {
	d.Waits = append(d.Waits, Wait{Key: k, Why: why, Person: true})
}
