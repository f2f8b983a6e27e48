package certificate

import (
	"slices"
	"time"
)

// Step is one write of Secret orcon-ca. The zero value writes nothing.
type Step string

// The steps in the order of a rotation.
const (
	// StepWait writes nothing.
	StepWait Step = ""
	// StepCreate makes the first authority, or one in place of an authority
	// that can no longer be used.
	StepCreate Step = "create"
	// StepAnnounce makes the next authority, so that it is published.
	StepAnnounce Step = "announce"
	// StepStamp notes a moment to wait from.
	StepStamp Step = "stamp"
	// StepPromote lets the next authority sign.
	StepPromote Step = "promote"
	// StepRetire drops the old authority.
	StepRetire Step = "retire"
)

// soon is when to look again while something outside holds a step back.
const soon = 5 * time.Second

// Next returns the step that is due in state s at the time now. If it is
// StepWait, the second value says how long there is nothing to do unless
// something else changes.
func Next(s State, now time.Time, p Periods) (Step, time.Duration) {
	switch {
	case !usable(s.Current, now) && !usable(s.Next, now):
		return StepCreate, 0
	case !usable(s.Current, now):
		return StepPromote, 0
	case len(s.Old) > 0:
		return afterPromotion(s, now, p)
	case s.Next == nil:
		return waitUntil(StepAnnounce, p.due(s.Current), now)
	default:
		return afterAnnouncement(s, now, p)
	}
}

// usable says whether an authority can sign.
func usable(r *Root, now time.Time) bool {
	return r != nil && now.Before(r.Certificate.NotAfter)
}

// afterPromotion keeps the old authority trusted until no leaf of it lives.
func afterPromotion(s State, now time.Time, p Periods) (Step, time.Duration) {
	if s.Promoted.IsZero() {
		return StepStamp, 0
	}
	return waitUntil(StepRetire, s.Promoted.Add(p.Leaf+p.Skew), now)
}

// afterAnnouncement lets the next authority sign when all places trust it. It does not wait past the deadline for a
// place that refuses its bundle.
func afterAnnouncement(s State, now time.Time, p Periods) (Step, time.Duration) {
	if !s.Published.IsZero() {
		return waitUntil(StepPromote, s.Published.Add(p.Propagation), now)
	}
	if s.Everywhere {
		return StepStamp, 0
	}
	if step, wait := waitUntil(StepStamp, p.deadline(s.Current), now); step != StepWait || wait < soon {
		return step, wait
	}
	return StepWait, soon
}

// waitUntil returns step if it is due, else for how long to wait.
func waitUntil(step Step, due, now time.Time) (Step, time.Duration) {
	if wait := due.Sub(now); wait > 0 {
		return StepWait, wait
	}
	return step, 0
}

// After returns the state that step leads to. Fresh is the authority made for
// StepCreate and StepAnnounce, and unused otherwise.
func (s State) After(step Step, now time.Time, fresh *Root) State {
	out := s
	out.Everywhere = false
	switch step {
	case StepCreate:
		return created(s, now, fresh)
	case StepAnnounce:
		out.Next, out.Published = fresh, time.Time{}
	case StepStamp:
		return stamped(out, now)
	case StepPromote:
		out = State{Current: s.Next, Old: s.Old, Promoted: now}
		if s.Current != nil {
			out.Old = append(slices.Clip(out.Old), s.Current.Certificate)
		}
	case StepRetire:
		out.Old, out.Promoted = nil, time.Time{}
	case StepWait:
	}
	return out
}

// created starts anew. Earlier authorities stay trusted for a while: leaves that a lost authority signed are still in
// use.
func created(s State, now time.Time, fresh *Root) State {
	out := State{Current: fresh}
	for _, c := range s.Trusted() {
		if now.Before(c.NotAfter) && !slices.ContainsFunc(out.Old, c.Equal) {
			out.Old = append(out.Old, c)
		}
	}
	if len(out.Old) > 0 {
		out.Promoted = now
	}
	return out
}

// stamped notes the moment that the present wait counts from.
func stamped(s State, now time.Time) State {
	if len(s.Old) > 0 {
		s.Promoted = now
		return s
	}
	s.Published = now
	return s
}
