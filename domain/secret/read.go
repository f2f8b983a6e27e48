package secret

import (
	"cmp"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Query is how a unit reads a secret.
type Query struct {
	// Label becomes the unit's own name for it, if it is set.
	Label string
	// Peek reads the latest revision this once, Refresh from now on.
	Peek, Refresh bool
	// Revision is the one that the latest must be; 0 for any. A unit that refreshes only
	// after it has used what it peeked at does not skip one that was made meanwhile.
	Revision int
}

// Standing is how a unit stands to a secret's owner, as of now.
type Standing struct {
	// Now is when the unit asks.
	Now time.Time
	// Alive are the UIDs of the secret's relations that live, or of whose end the unit has
	// yet to hear; Suspended are those of them that wait for an Offer to return.
	Alive, Suspended []string
	// Related says that a living relation joins the unit's application and the
	// owner's.
	Related bool
}

// maxReaders bounds what is kept of one secret, so that its object stays small.
const maxReaders = 4096

// Read returns the revision that a unit sees, and the secret after it was read:
// a reader keeps to its revision until it refreshes. The units of the owner always
// see the latest. When a revision ends is its owner's to act upon: until then it can be
// read. An error is a conversation.Error (RELATIONS.md P4).
func (s Secret) Read(u Unit, q Query, is Standing) (Revision, Secret, error) {
	if s.Ended() {
		return Revision{}, s, Unknown(s.ID)
	}
	if err := s.mayRead(u, is); err != nil {
		return Revision{}, s, err
	}
	before := s.reader(u)
	reader := before
	number := s.latest().Number
	if q.Revision != 0 && q.Revision != number {
		return Revision{}, s, gone("take the latest by --refresh",
			"cannot read revision %d of secret %s: the latest is %d", q.Revision, s.ID, number)
	}
	if reader.Revision != 0 && !q.Peek && !q.Refresh {
		number = reader.Revision
	}
	seen, err := s.revision(number)
	if err != nil {
		return seen, s, err
	}
	if !q.Peek && !s.owns(u) {
		reader.Revision = number
	}
	reader.Label = cmp.Or(q.Label, reader.Label)
	if reader != before {
		reader.Since = is.Now
	}
	after, err := s.keep(reader)
	return seen, after, err
}

func (s Secret) revision(number int) (Revision, error) {
	i := slices.IndexFunc(s.Revisions, func(r Revision) bool { return r.Number == number })
	if i < 0 {
		return Revision{}, gone("take the latest by --refresh", "cannot read revision %d of secret %s: it was removed", number, s.ID)
	}
	return s.Revisions[i], nil
}

// reader returns what is noted of a unit.
func (s Secret) reader(u Unit) Reader {
	for _, r := range s.Readers {
		if r.Application == u.Application && r.Unit == u.Number {
			return r
		}
	}
	return Reader{Application: u.Application, Unit: u.Number}
}

// keep returns the secret with a reader noted, if there is something to note.
func (s Secret) keep(reader Reader) (Secret, error) {
	after := s.clone()
	i := slices.IndexFunc(after.Readers, func(r Reader) bool { return r.Application == reader.Application && r.Unit == reader.Unit })
	switch {
	case i >= 0:
		after.Readers[i] = reader
	case reader.Revision == 0 && reader.Label == "":
		return s, nil
	case len(after.Readers) >= maxReaders:
		return s, invalid("read it in fewer units", "cannot read secret %s: %d units do", s.ID, maxReaders)
	default:
		after.Readers = append(after.Readers, reader)
	}
	return after.Settle(), nil
}

// owns reports whether the secret is the unit's, or its application's.
func (s Secret) owns(u Unit) bool {
	return s.Owner.Application == u.Application && (s.Owner.Unit == "" || s.Owner.Unit == u.Number)
}

// mayRead returns why a unit may not read: a grant that is over is gone, a revoked one or another's secret is
// forbidden, and one that a related unit may still be granted, or sees again when a relation goes on, is not yet.
func (s Secret) mayRead(u Unit, is Standing) error {
	if s.owns(u) {
		return nil
	}
	over, revoked, suspended := false, false, false
	for _, a := range s.Access {
		alive := slices.Contains(is.Alive, a.Relation)
		switch {
		case !a.is(u.Application, u.Number):
		case alive && !a.Revoked && !slices.Contains(is.Suspended, a.Relation):
			return nil
		case alive && !a.Revoked:
			suspended = true
		case alive:
			revoked = true
		default:
			over = true
		}
	}
	switch {
	case suspended:
		return &conversation.Error{Kind: conversation.NotYet,
			Message: "cannot read secret " + s.ID + ": the relation that it was granted for is suspended",
			Cure:    "read it when the relation is created again"}
	case revoked:
		return &conversation.Error{Kind: conversation.Forbidden, Message: "cannot read secret " + s.ID + ": what was granted to " +
			u.Application + " was taken back", Cure: "ask for a grant from " + s.Owner.Application}
	case over:
		return gone("what was read must be kept elsewhere", "cannot read secret %s: it was granted for a relation that has ended", s.ID)
	case is.Related:
		return &conversation.Error{Kind: conversation.NotYet,
			Message: "cannot read secret " + s.ID + ": it is not granted to " + u.String(),
			Cure:    "wait until " + s.Owner.Application + " does secret-grant"}
	default:
		return &conversation.Error{Kind: conversation.Forbidden, Message: "cannot read secret " + s.ID + ": " + u.Application +
			" is not related to its owner", Cure: "relate to its owner and ask for a grant"}
	}
}

// LabelledBy reports whether a unit calls the secret so: by the label of the owner
// for the owner's units, else by its own.
func (s Secret) LabelledBy(u Unit, label string) bool {
	return label != "" && (s.owns(u) && s.Label == label || slices.ContainsFunc(s.Readers, func(r Reader) bool {
		return r.Application == u.Application && r.Unit == u.Number && r.Label == label
	}))
}
