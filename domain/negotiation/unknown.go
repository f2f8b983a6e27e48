package negotiation

import (
	"maps"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// unknownSides are the sides of relations that exist and cannot be read: whether one owes an end is unknown
// (TRUST.md T2).
type unknownSides map[pairSide]relation.Unreadable

// exclude removes those whose pair and role have a side that can be read: they have its name no more.
func (s unknownSides) exclude(from relation.Snapshot) {
	if len(s) == 0 {
		return
	}
	readable := sides{}
	readable.add(from.Sides)
	for _, at := range from.Abroad {
		readable.add(at.Sides)
	}
	maps.DeleteFunc(s, func(of pairSide, _ relation.Unreadable) bool {
		_, is := readable[of]
		return is
	})
}

// of returns the side of an end of a relation. That of an earlier relation of the pair is another.
func (s unknownSides) of(r relation.Relation, e relation.End) (relation.Unreadable, bool) {
	one, is := s[pairSide{r.Key, r.Role(e)}]
	return one, is && one.Side.Relation == r.UID
}

// pair returns the first side of a pair, of any of its relations. The next relation of the pair waits for it.
func (s unknownSides) pair(k relation.Key) (relation.Unreadable, bool) {
	for _, role := range []application.Role{application.Requirer, application.Provider, application.Peer} {
		if one, is := s[pairSide{k, role}]; is {
			return one, true
		}
	}
	return relation.Unreadable{}, false
}

// keep reports whether a side may need a bag of its namespace.
func (s unknownSides) keep(namespace string, b relation.Databag) bool {
	for _, one := range s {
		here := relation.End{Namespace: namespace, Application: b.Application, Endpoint: b.Endpoint}
		if one.Side.Here() == here && (b.Relation == "" || b.Relation == one.Side.Relation) {
			return true
		}
	}
	return false
}

// applications returns those of a namespace that have sides.
func (s unknownSides) applications(namespace string) map[string]bool {
	names := map[string]bool{}
	for _, one := range s {
		if one.Namespace == namespace {
			names[one.Side.Here().Application] = true
		}
	}
	return names
}

// undecided lists the sides of providers as if their relations had not ended, which requirers wait for.
func (s unknownSides) undecided() []relation.Side {
	var all []relation.Side
	for _, one := range s {
		if one.Side.Role == application.Provider {
			one.Side.Known, one.Side.Choice, one.Side.Teardown = true, "", nil
			all = append(all, one.Side)
		}
	}
	return all
}
