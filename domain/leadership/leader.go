// Package leadership decides which unit of an application leads it, and for how long.
//
// What must not come in: how a lease is stored or renewed.
package leadership

import "time"

// The times of leadership (SAFETY.md P1).
const (
	// lease is how long a leader leads without renewing.
	lease = 60 * time.Second
	// renewal is the part of a lease that must have passed before it is renewed: more often, each renewal would be a
	// write for nothing (TRUST.md U1).
	renewal = 10 * time.Second
	// Margin is how much of the lease must be left for a write, which must end earlier (TRUST.md U1).
	Margin = 10 * time.Second
	// pause is how long after the end of a lease another may lead, since
	// clocks differ.
	pause = 5 * time.Second
	// Sure is how much of the lease must be left for a unit to say of itself
	// that it leads.
	Sure = 30 * time.Second
)

// Leader is the one unit of an application that may write its bags. The zero
// Leader is none.
type Leader struct {
	// Unit is its number, PodUID its pod.
	Unit   int
	PodUID string
	// Term is higher than that of every leader before, so that a bag can refuse
	// the late write of a deposed one.
	Term    int
	Expires time.Time
}

// Claim returns the leader after a pod has asked to lead, or to go on leading.
// Another leads until its lease has ended and clocks have had their time. The
// new pod of the same unit need not wait: the old one is gone.
func (l Leader) Claim(unit int, podUID string, now time.Time) Leader {
	ended := l.Term == 0 || !now.Before(l.Expires.Add(pause))
	switch {
	case l.PodUID == podUID && now.Before(l.Expires):
		if now.Add(lease - renewal).After(l.Expires) {
			l.Expires = now.Add(lease)
		}
	case ended || l.Unit == unit && l.PodUID != podUID:
		return Leader{Unit: unit, PodUID: podUID, Term: l.Term + 1, Expires: now.Add(lease)}
	}
	return l
}

// Resign returns the leader after a pod has said that it will not write any
// more: another may lead at once.
func (l Leader) Resign(podUID string, now time.Time) Leader {
	if l.PodUID == podUID && now.Before(l.Expires) {
		l.Expires = resigned()
	}
	return l
}

// resigned is the end of the lease of a leader that has resigned: it is over by every clock.
func resigned() time.Time { return time.Unix(0, 0).UTC() }

// MayWrite reports whether a pod may still write as the leader of a term.
func (l Leader) MayWrite(podUID string, term int, now time.Time) bool {
	return l.PodUID == podUID && l.Term == term && !now.After(l.Expires.Add(-Margin))
}

// Left is how long a pod leads without renewing; zero or less if it does not.
func (l Leader) Left(podUID string, now time.Time) time.Duration {
	if l.PodUID != podUID {
		return 0
	}
	return l.Expires.Sub(now)
}
