package leadership

import "time"

// Observation is a stored leader as one reader has seen it by its own clock. The end that is stored counts by the clock
// of its writer, and clocks may differ by more than the pause: so a lease has run out for others once the reader has seen
// it unchanged for as long, and its leader may write only where it was certainly written since (SAFETY.md P1). The zero
// Observation has seen none.
type Observation struct {
	stored Leader
	// first is when the reader first knew it to be stored. It was written after the time in after; zero if not known.
	first, after time.Time
	// last is when the reader last requested it.
	last time.Time
}

// Written returns the observation of a reader that relies on the clock of who has written the leader.
func Written(stored Leader) Observation {
	began := stored.Expires.Add(-lease)
	return Observation{stored: stored, first: began, after: began}
}

// Seen returns the observation after the reader has requested the leader at one time, and got it at another.
func (o Observation) Seen(stored Leader, requested, got time.Time) Observation {
	if stored != o.stored {
		o = Observation{stored: stored, first: got, after: o.last}
	}
	o.last = requested
	return o
}

// Wrote returns the observation after the reader has begun to write the leader at one time, and has written it at
// another.
func (o Observation) Wrote(stored Leader, began, done time.Time) Observation {
	return Observation{stored: stored, first: done, after: began, last: began}
}

// After returns the observation where a term of that number was taken, though perhaps without a leader.
func (o Observation) After(term int) Observation {
	o.stored.Term = max(o.stored.Term, term)
	return o
}

// Claim returns the leader after a pod has asked to lead, or to go on leading, with the end by the reader's clock. It
// has to be written if changed is set.
func (o Observation) Claim(unit int, podUID string, now time.Time) (leader Leader, changed bool) {
	by := o.atMost()
	if by.PodUID == podUID && now.Before(by.Expires) {
		by.Expires = o.atLeast().Expires
		if !now.Before(by.Expires) {
			by.Expires = now.Add(1) // it may have run out, and no other pod has taken it
		}
	}
	leader = by.Claim(unit, podUID, now)
	return leader, leader != by
}

// Resign returns the leader after a pod has said that it will not write any more.
func (o Observation) Resign(podUID string, now time.Time) (leader Leader, changed bool) {
	by := o.atMost()
	leader = by.Resign(podUID, now)
	return leader, leader != by
}

// MayWrite reports whether a pod may still write as the leader of a term. In doubt its lease has to be renewed first.
func (o Observation) MayWrite(podUID string, term int, now time.Time) (may, doubt bool) {
	may = o.atLeast().MayWrite(podUID, term, now)
	return may, !may && o.atMost().MayWrite(podUID, term, now)
}

// Leads reports whether a pod leads, as far as is known: another one does not, as long as it does.
func (o Observation) Leads(podUID string, now time.Time) bool {
	return o.atMost().Left(podUID, now) > 0
}

// atMost returns the leader whose lease ends as late as it may, atLeast as early.
func (o Observation) atMost() Leader { return o.ends(o.first) }

func (o Observation) atLeast() Leader { return o.ends(o.after) }

// ends returns the leader with a lease that began at that time.
func (o Observation) ends(began time.Time) Leader {
	l := o.stored
	if l.PodUID != "" && !l.Expires.Equal(resigned()) {
		l.Expires = began.Add(lease)
	}
	return l
}
