package relation

import "time"

// Current tells relations apart from those whose identity another one has taken over: of those that share one and have
// an id, the one that is neither being deleted nor held and was created last is current (TRUST.md A11).
func Current(all []Relation) (is, succeeded []Relation) {
	current := make(map[string]Relation, len(all))
	for _, r := range all {
		if before, there := current[r.UID]; r.State.ID > 0 && (!there || r.succeeds(before)) {
			current[r.UID] = r
		}
	}
	for _, r := range all {
		if r.State.ID > 0 && current[r.UID].Name != r.Name {
			succeeded = append(succeeded, r)
		} else {
			is = append(is, r)
		}
	}
	return is, succeeded
}

// succeeds reports whether a relation and not another one of its identity is current.
func (r Relation) succeeds(other Relation) bool {
	if r.Deleted.IsZero() != other.Deleted.IsZero() {
		return r.Deleted.IsZero()
	}
	if r.Held() != other.Held() {
		return other.Held()
	}
	if d := r.Created.Compare(other.Created); d != 0 {
		return d > 0
	}
	return r.Name > other.Name
}

// HeldUntil returns when a relation ends that nothing declares any more.
func HeldUntil(s State) time.Time { return s.HeldSince.Add(s.Retain) }

// Bequeaths reports whether another Relation of the pair may take over: the object is being deleted, or nothing declares the
// relation any more and the time for which it is kept is over; and its end is not decided (TRUST.md A11).
func (r Relation) Bequeaths(now time.Time) bool {
	over := r.State.HeldReason == ReasonDeclarationGone && !now.Before(HeldUntil(r.State))
	return !r.Ended() && (!r.Deleted.IsZero() || over)
}

// Inherits returns the relation that an object becomes which takes over from a relation of the same pair: all that is
// known of that, in the object's name. It began with that one.
func (r Relation) Inherits(from Relation) Relation {
	is := from
	is.Name, is.Object, is.Declared, is.Deleted = r.Name, r.Object, r.Declared, r.Deleted
	is.Interface, is.Version = r.Interface, r.Version
	is.State.HeldSince, is.State.HeldReason = r.State.HeldSince, r.State.HeldReason
	return is
}
