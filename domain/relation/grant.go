package relation

import (
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Grant is a user's Secret that an endpoint gives by reference: the bag names where it is
// read, and it is not copied (SAFETY.md S1).
type Grant struct {
	Endpoint string
	// Secret is its name, in the application's namespace.
	Secret string
	// Key is the one of the bag under which the reference stands.
	Key string
	// Version is the Secret's as it was seen last, and Revision counts them; 0 for one
	// that was never granted.
	Version  string
	Revision int
	// Refused says that the Secret is not granted now.
	Refused bool
}

// Reaches reports whether an end's Secret is granted in a relation that is open. Across
// namespaces the Offer must list it too, which only a provider's can.
func (g Grant) Reaches(r Relation, e End, lent []string) bool {
	return g.Revision > 0 && !g.Refused && (!r.Abroad() || e == r.Provider && slices.Contains(lent, g.Secret))
}

// Layer returns what a grant puts above all else that its end says.
func (g Grant) Layer(e End) map[string]string {
	return map[string]string{g.Key: secret.Reference(secret.GrantedID(e.Namespace, e.Application, e.Endpoint))}
}

// Granted returns the grant of one end of a relation to the other side, among the grants of its application; false
// for none. For another namespace it needs Under.
func (r Relation) Granted(e End, grants []Grant) (Grant, bool) {
	i := slices.IndexFunc(grants, func(g Grant) bool { return g.Endpoint == e.Endpoint })
	if i < 0 || !r.Open() || r.Peer() {
		return Grant{}, false
	}
	return grants[i], grants[i].Reaches(r, e, r.lent)
}
