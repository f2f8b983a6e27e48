package leadership

import "time"

// Sight is a stored leader as one reader has seen it by its own clock. The end that is stored counts by the clock of its
// writer, and clocks may differ by more than the pause: so a lease has run out for others once the reader has seen it
// unchanged for as long, and its leader may write only where it was certainly written since (SAFETY.md P1). The zero
// Sight has seen none.
type Sight struct {
	stored Leader
	// first is when the reader first knew it to be stored. It was written after the time in after; zero if not known.
	first, after time.Time
	// last is when the reader last requested it.
	last time.Time
}

// Written returns the sight of a reader that relies on the clock of who has written the leader.
func Written(stored Leader) Sight {
	began := stored.Expires.Add(-lease)
	return Sight{stored: stored, first: began, after: began}
}

// Seen returns the sight after the reader has requested the leader at one time, and got it at another.
func (s Sight) Seen(stored Leader, requested, got time.Time) Sight {
	if stored != s.stored {
		s = Sight{stored: stored, first: got, after: s.last}
	}
	s.last = requested
	return s
}

// Wrote returns the sight after the reader has begun to write the leader at one time, and has written it at another.
func (s Sight) Wrote(stored Leader, began, done time.Time) Sight {
	return Sight{stored: stored, first: done, after: began, last: began}
}

// After returns the sight where a term of that number was taken, though perhaps without a leader.
func (s Sight) After(term int) Sight {
	s.stored.Term = max(s.stored.Term, term)
	return s
}

// Claim returns the leader after a pod has asked to lead, or to go on leading, with the end by the reader's clock. It
// has to be written if changed is set.
func (s Sight) Claim(unit int, podUID string, now time.Time) (leader Leader, changed bool) {
	by := s.atMost()
	if by.PodUID == podUID && now.Before(by.Expires) {
		by.Expires = s.atLeast().Expires
		if !now.Before(by.Expires) {
			by.Expires = now.Add(1) // it may have run out, and no other pod has taken it
		}
	}
	leader = by.Claim(unit, podUID, now)
	return leader, leader != by
}

// Resign returns the leader after a pod has said that it will not write any more.
func (s Sight) Resign(podUID string, now time.Time) (leader Leader, changed bool) {
	by := s.atMost()
	leader = by.Resign(podUID, now)
	return leader, leader != by
}

// MayWrite reports whether a pod may still write as the leader of a term. In doubt its lease has to be renewed first.
func (s Sight) MayWrite(podUID string, term int, now time.Time) (may, doubt bool) {
	may = s.atLeast().MayWrite(podUID, term, now)
	return may, !may && s.atMost().MayWrite(podUID, term, now)
}

// Leads reports whether a pod leads, as far as is known: another one does not, as long as it does.
func (s Sight) Leads(podUID string, now time.Time) bool { return s.atMost().Left(podUID, now) > 0 }

// atMost returns the leader whose lease ends as late as it may, atLeast as early.
func (s Sight) atMost() Leader { return s.ends(s.first) }

func (s Sight) atLeast() Leader { return s.ends(s.after) }

// ends returns the leader with a lease that began at that time.
func (s Sight) ends(began time.Time) Leader {
	l := s.stored
	if l.PodUID != "" && !l.Expires.Equal(resigned()) {
		l.Expires = began.Add(lease)
	}
	return l
}
