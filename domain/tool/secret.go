package tool

import (
	"errors"
	"regexp"
	"time"
)

// SecretID names a secret for ever. Its text is secret:ID.
type SecretID struct {
	// Model is the UUID of the namespace where it lives, as a foreign secret is
	// written; empty in a name that does not say.
	Model string
	// ID is 20 letters and digits.
	ID string
}

// String returns the text that ParseSecretID reads.
func (s SecretID) String() string {
	if s.Model != "" {
		return "secret://" + s.Model + "/" + s.ID
	}
	return "secret:" + s.ID
}

var secretID = regexp.MustCompile(`^(?:secret:)?(?://([0-9a-f-]{36})/)?([0-9a-z]{20})$`)

// ParseSecretID reads secret:ID, secret://MODEL/ID or the ID alone.
func ParseSecretID(text string) (SecretID, error) {
	found := secretID.FindStringSubmatch(text)
	if found == nil {
		return SecretID{}, errors.New("secret URI not valid; write it as secret-add or the relation gave it, for example " + exampleID)
	}
	return SecretID{Model: found[1], ID: found[2]}, nil
}

const exampleID = "secret:9m4e2mr0ui3e8a215n4g"

// Owner names the side that may change and grant a secret.
type Owner string

// The owners: the unit itself, or its application by its leader.
const (
	OwnedByApplication Owner = "application"
	OwnedByUnit        Owner = "unit"
)

// Rotation is how often a secret's owner is asked for a new revision.
type Rotation string

// The rotations.
const (
	RotateNever     Rotation = "never"
	RotateHourly    Rotation = "hourly"
	RotateDaily     Rotation = "daily"
	RotateWeekly    Rotation = "weekly"
	RotateMonthly   Rotation = "monthly"
	RotateQuarterly Rotation = "quarterly"
	RotateYearly    Rotation = "yearly"
)

func rotations() []Rotation {
	return []Rotation{RotateNever, RotateHourly, RotateDaily, RotateWeekly, RotateMonthly, RotateQuarterly, RotateYearly}
}

// SecretChange is a change of a secret; a zero field is left as it is.
type SecretChange struct {
	Content     map[string][]byte
	Label       string
	Description string
	Rotation    Rotation
	// Expire is when the revision ends.
	Expire time.Time
}

// SecretQuery says which content is read. It has an ID, a label or both; with both
// the label becomes the reader's name for the secret.
type SecretQuery struct {
	ID    *SecretID
	Label string
	// Peek reads the latest revision this once; Refresh keeps to it from now on.
	// Without either it is the revision that was read before.
	Peek, Refresh bool
}

// Secret is the part of a secret that its owner may know, but for its content.
type Secret struct {
	ID          SecretID
	Revision    int
	Label       string
	Owner       Owner
	Description string
	Rotation    Rotation
	// Expires and Rotates are when that is due; zero is never.
	Expires, Rotates time.Time
	Access           []SecretAccess
}

// SecretAccess is one grant of a secret.
type SecretAccess struct {
	// Target is an application or a unit, Scope the relation as db:7.
	Target, Scope string
}
