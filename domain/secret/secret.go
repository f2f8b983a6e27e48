package secret

import (
	"regexp"
	"slices"
	"strconv"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Secret is all that is known of a secret but for its content. One without
// revisions is none.
type Secret struct {
	// ID names it, for ever.
	ID string
	// Made is when its object was made, by a restore too.
	Made  time.Time
	Owner Owner
	// Label is the owner's name for it, Description is for people.
	Label, Description string
	Rotation           Rotation
	// Rotates is when a new revision is due; zero for never.
	Rotates time.Time
	// Latest is the highest number that a revision was ever given.
	Latest int
	// Removed is when the secret was removed, in a tombstone; zero for a secret.
	Removed time.Time
	// Revisions in order of number.
	Revisions []Revision
	Access    []Access
	Readers   []Reader
}

// Owner names the side that may change a secret: an application by its leader, or one unit.
type Owner struct {
	Application string
	// Unit is the unit's number; empty where the application is the owner.
	Unit string
}

// String returns the owner as tools write it.
func (o Owner) String() string {
	if o.Unit == "" {
		return o.Application
	}
	return o.Application + "/" + o.Unit
}

// Revision is one content of a secret.
type Revision struct {
	Number int
	// Place is where its content lies.
	Place   Place
	Created time.Time
	// Expires is when it ends; zero for never.
	Expires time.Time
}

// Place is where content lies: never the same for two contents.
type Place struct {
	Shard int
	Key   string
}

// Access is a grant: as long as a relation lives, its other side may read, or
// one unit of that.
type Access struct {
	// Relation is the UID of the relation, Name its object's name, Namespace where that
	// is; empty for the secret's own.
	Relation, Name, Namespace string
	// Application is the reader, as the secret's namespace names it, Unit the number of its unit; empty for all.
	Application, Unit string
	// Revoked reports that the grant was revoked, so that the error for its reader tells this from a grant to wait
	// for.
	Revoked bool
}

// Reader is a unit that keeps to a revision.
type Reader struct {
	Application, Unit string
	// Revision is the one it reads until it asks for a later one; 0 for always the
	// latest.
	Revision int
	// Label is its own name for the secret.
	Label string
	// Since is when it came to that revision or label; zero for not known.
	Since time.Time
}

// Unit is the unit that calls.
type Unit struct {
	Application, Number string
	// Leads says that it leads its application, and will for long enough.
	Leads bool
}

// Visitor is the caller's name in a namespace: a unit has another name outside its own.
type Visitor struct {
	Unit

	Namespace string
	// Related are the applications there that an open relation joins its own with.
	Related []string
	// Ties are its relations with ends there, by what those would grant.
	Ties []Tie
}

// Tie is a relation by which a unit reads what an end in another application grants.
type Tie struct {
	// Relation is its UID, Name its object's name and Home where that is.
	Relation, Name, Home string
	// Application and Endpoint are the end that would grant.
	Application, Endpoint string
}

// TiesFor returns the relations by which a visitor would be granted a user's Secret of that ID.
func (v Visitor) TiesFor(id string) []Tie {
	var all []Tie
	for _, t := range v.Ties {
		if GrantedID(v.Namespace, t.Application, t.Endpoint) == id {
			all = append(all, t)
		}
	}
	return all
}

// Named is the unit as events name it; numbers are those of the record of its application.
func (u Unit) Named() conversation.Unit {
	number, _ := strconv.Atoi(u.Number)
	return conversation.Unit{Application: u.Application, Number: number}
}

// String returns application/number.
func (u Unit) String() string { return u.Application + "/" + u.Number }

// Rotation is how often a new revision is due; empty is never.
type Rotation string

// Never is the rotation that ends another.
const Never Rotation = "never"

// period is the time between two revisions; zero for never.
func (r Rotation) period() time.Duration {
	const day = 24 * time.Hour
	return map[Rotation]time.Duration{
		"hourly": time.Hour, "daily": day, "weekly": 7 * day,
		"monthly": 30 * day, "quarterly": 90 * day, "yearly": 365 * day,
	}[r]
}

var id = regexp.MustCompile(`^[0-9a-z]{20}$`)

// ValidID reports whether a text can name a secret.
func ValidID(text string) bool { return id.MatchString(text) }

// Ended reports whether nothing is left of the secret.
func (s Secret) Ended() bool { return len(s.Revisions) == 0 }

// latest returns the last revision; the secret has one.
func (s Secret) latest() *Revision { return &s.Revisions[len(s.Revisions)-1] }

// Places lists where content of the secret lies.
func (s Secret) Places() []Place {
	var all []Place
	for _, r := range s.Revisions {
		all = append(all, r.Place)
	}
	return all
}

// clone is a secret that may be changed.
func (s Secret) clone() Secret {
	s.Revisions, s.Access, s.Readers = slices.Clone(s.Revisions), slices.Clone(s.Access), slices.Clone(s.Readers)
	return s
}

// Settle leaves out the revisions without a possible reader: a reader that keeps to none gets the latest, so that
// only kept revisions and the latest remain. A secret whose last revision is out of reach has ended.
func (s Secret) Settle() Secret {
	s = s.clone()
	last := len(s.Revisions) - 1
	kept := s.Revisions[:0]
	for i, r := range s.Revisions {
		if i == last || slices.ContainsFunc(s.Readers, func(reader Reader) bool { return reader.Revision == r.Number }) {
			kept = append(kept, r)
		}
	}
	s.Revisions = kept
	return s
}
