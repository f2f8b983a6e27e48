package conversation

import "strings"

// Address names one bag by its relation and its writer.
type Address struct {
	// Relation is the UID; empty for what is said in all relations of an endpoint.
	Relation string `json:"relation,omitempty"`
	// Owner is a unit (web/0) or an application (web).
	Owner string `json:"owner,omitempty"`
}

// ForUnit addresses a unit's bag.
func ForUnit(relation string, u Unit) Address { return Address{relation, u.String()} }

// ForApplication addresses an application's bag.
func ForApplication(relation, application string) Address { return Address{relation, application} }

// Unit returns the unit whose bag it is; false for an application's.
func (a Address) Unit() (Unit, bool) {
	if !strings.Contains(a.Owner, "/") {
		return Unit{}, false
	}
	u, err := ParseUnit(a.Owner)
	return u, err == nil
}

// Application returns the application that owns the bag, by itself or as one of
// its units.
func (a Address) Application() string {
	application, _, _ := strings.Cut(a.Owner, "/")
	return application
}
