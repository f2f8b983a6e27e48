package secret

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Kind is the kind of a write.
type Kind string

// The kinds of writes, as the tools are called.
const (
	Add    Kind = "add"
	Set    Kind = "set"
	Remove Kind = "remove"
	Grant  Kind = "grant"
	Revoke Kind = "revoke"
)

// Write is one thing that a unit does to a secret, of its transaction
// (RELATIONS.md E11).
type Write struct {
	Kind Kind
	ID   string
	// Own says of an Add that the unit owns it; else its application does.
	Own bool
	// Place is where the content of a new revision lies; zero for none.
	Place Place
	// Label, Description, Rotation and Expires are new where they are set.
	Label, Description string
	Rotation           Rotation
	Expires            time.Time
	// Revision is the one to remove; 0 for the whole secret.
	Revision int
	// Access is the granted access, or narrows down the revoked one.
	Access Access
}

// maxAccess bounds what is kept of one secret, so that its object stays small.
const maxAccess = 512

// Apply returns the secret after a write of a unit at a time, or why the unit may not, as a conversation.Error. Add
// takes an ID that no secret has. Revisions without a possible reader are left out; a secret without revisions has
// ended.
func Apply(s Secret, w Write, u Unit, now time.Time) (Secret, error) {
	if err := w.check(); err != nil {
		return s, err
	}
	if w.Kind == Add {
		return add(s, w, u, now)
	}
	if s.Ended() {
		return s, Unknown(w.ID)
	}
	if err := s.MayManage(u); err != nil {
		return s, err
	}
	after := s.clone()
	var err error
	switch w.Kind {
	case Set:
		err = after.set(w, now)
	case Remove:
		err = after.remove(w)
	case Grant:
		err = after.grant(w.Access)
	case Revoke:
		after.revoke(w.Access)
	default:
		err = invalid("upgrade the controller", "cannot %s a secret: that is not known here", w.Kind)
	}
	if err != nil {
		return s, err
	}
	return after.Settle(), nil
}

// The longest texts that a secret keeps, in bytes.
const (
	maxLabel       = 253
	maxDescription = 4096
	maxName        = 127
)

var number = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})?$`)

// check refuses what no secret can keep.
func (w Write) check() error {
	switch {
	case len(w.Label) > maxLabel:
		return invalid("take a shorter one", "cannot label secret %.20s: the label has %d bytes, and %d are allowed",
			w.ID, len(w.Label), maxLabel)
	case len(w.Description) > maxDescription:
		return invalid("say less", "cannot describe secret %.20s: the description has %d bytes, and %d are allowed",
			w.ID, len(w.Description), maxDescription)
	case w.Rotation != "" && w.Rotation != Never && w.Rotation.period() == 0:
		return invalid("see secret-add --help", "cannot rotate secret %.20s: unknown rotation %.20q", w.ID, w.Rotation)
	case !number.MatchString(w.Access.Unit), len(w.Access.Application) > maxName, len(w.Access.Relation) > maxName, w.Revision < 0:
		return invalid("name an application, a unit's number and a relation",
			"cannot %.20s secret %.20s: what it names is not a name", w.Kind, w.ID)
	default:
		return nil
	}
}

func add(s Secret, w Write, u Unit, now time.Time) (Secret, error) {
	switch {
	case !ValidID(w.ID):
		return s, invalid("let secret-add choose it", "cannot make a secret: %.80q is not an ID", w.ID)
	case !s.Ended():
		return s, invalid("make another", "cannot make secret %s: there is one", w.ID)
	case w.Place == Place{}:
		return s, invalid("write key=value", "cannot make secret %s: it has no content", w.ID)
	}
	after := Secret{ID: w.ID, Owner: Owner{Application: u.Application}}
	if w.Own {
		after.Owner.Unit = u.Number
	}
	if err := after.MayManage(u); err != nil {
		return s, err
	}
	return after, after.set(w, now)
}

// set makes a new revision, if there is content, and changes what else is set.
func (s *Secret) set(w Write, now time.Time) error {
	if !w.Expires.IsZero() && !w.Expires.After(now) {
		return invalid("write a time to come", "cannot let a revision end at %s: that is over", w.Expires.UTC().Format(time.RFC3339))
	}
	if (w.Place != Place{}) {
		s.Latest++
		s.Revisions = append(s.Revisions, Revision{Number: s.Latest, Place: w.Place, Created: now, Expires: w.Expires})
		s.Rotates = time.Time{}
	}
	if w.Label != "" {
		s.Label = w.Label
	}
	if w.Description != "" {
		s.Description = w.Description
	}
	if w.Rotation != "" {
		s.Rotation, s.Rotates = w.Rotation, time.Time{}
	}
	if !w.Expires.IsZero() {
		s.latest().Expires = w.Expires
	}
	if period := s.Rotation.period(); period > 0 && s.Rotates.IsZero() {
		s.Rotates = now.Add(period)
	}
	return nil
}

func (s *Secret) remove(w Write) error {
	if w.Revision == 0 {
		s.Revisions = nil
		return nil
	}
	before := len(s.Revisions)
	s.Revisions = slices.DeleteFunc(s.Revisions, func(r Revision) bool { return r.Number == w.Revision })
	if len(s.Revisions) == before {
		return gone("secret-info-get tells the latest", "cannot remove revision %d of secret %s: it has none of that number", w.Revision, s.ID)
	}
	return nil
}

func (s *Secret) grant(a Access) error {
	if a.Relation == "" || a.Application == "" {
		return invalid("write -r", "cannot grant secret %s: a grant lives with a relation", s.ID)
	}
	same := func(b Access) bool {
		return a.Relation == b.Relation && a.Application == b.Application && a.Unit == b.Unit
	}
	s.Access = slices.DeleteFunc(s.Access, same)
	if len(s.Access) >= maxAccess {
		return invalid("revoke some", "cannot grant secret %s: it has %d grants", s.ID, maxAccess)
	}
	a.Revoked = false
	s.Access = append(s.Access, a)
	return nil
}

// revoke takes back every grant that from does not rule out, and lets go of the
// revisions that their readers kept to.
func (s *Secret) revoke(from Access) {
	within := func(wanted, has string) bool { return wanted == "" || wanted == has }
	for i, a := range s.Access {
		if within(from.Relation, a.Relation) && within(from.Application, a.Application) && within(from.Unit, a.Unit) {
			s.Access[i].Revoked = true
		}
	}
	s.letGo()
}

// letGo lets go of the readers that no grant is left for.
func (s *Secret) letGo() {
	s.Readers = slices.DeleteFunc(s.Readers, func(r Reader) bool {
		return !s.owns(Unit{Application: r.Application, Number: r.Unit}) && !s.grants(r, func(Access) bool { return true })
	})
}

// grants reports whether one of those grants lets a reader read that was not taken
// back.
func (s Secret) grants(r Reader, those func(Access) bool) bool {
	return slices.ContainsFunc(s.Access, func(a Access) bool { return !a.Revoked && a.is(r.Application, r.Unit) && those(a) })
}

// is reports whether the grant is for that unit.
func (a Access) is(application, unit string) bool {
	return a.Application == application && (a.Unit == "" || a.Unit == unit)
}

// Forget drops grants and readers that ended by themselves: grants whose relation is over, and readers that are gone
// or have no grant left. dead and left report it.
func (s Secret) Forget(dead func(relation string) bool, left func(application, unit string) bool) Secret {
	s = s.clone()
	s.Access = slices.DeleteFunc(s.Access, func(a Access) bool { return dead(a.Relation) })
	s.Readers = slices.DeleteFunc(s.Readers, func(r Reader) bool { return left(r.Application, r.Unit) })
	s.letGo()
	return s.Settle()
}

// Unlabelled refuses a label that another secret of the same owner has, since a
// label must name one.
func Unlabelled(all []Secret, s Secret) error {
	for _, other := range all {
		if s.Label != "" && other.ID != s.ID && other.Label == s.Label && other.Owner == s.Owner && !other.Ended() {
			return &conversation.Error{Kind: conversation.Invalid,
				Message: fmt.Sprintf("cannot label secret %s %.80q: %s is called so", s.ID, s.Label, other.ID),
				Cure:    "take another label"}
		}
	}
	return nil
}

// Unreachable returns the places that a secret and writes had and that the secret does not have after
// the writes.
func Unreachable(before Secret, writes []Write, after Secret) []Place {
	places := before.Places()
	for _, w := range writes {
		if (w.Place != Place{}) {
			places = append(places, w.Place)
		}
	}
	return slices.DeleteFunc(places, func(p Place) bool { return slices.Contains(after.Places(), p) })
}
