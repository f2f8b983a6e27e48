package tool

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// findRelation returns the relation that is written as 7, db:7 or its UID. An id
// is unique in the requirer's namespace only: where a provider has two of the
// same, the other application decides, if it is known.
func findRelation(all []conversation.Relation, written, remote string) (conversation.Relation, error) {
	endpoint, digits := "", written
	if at := strings.LastIndex(written, ":"); at >= 0 {
		endpoint, digits = written[:at], written[at+1:]
	}
	id, err := strconv.Atoi(digits)
	var found, others []conversation.Relation
	for _, r := range all {
		switch {
		case r.UID == written:
			return r, nil
		case err != nil || r.ID != id:
		case endpoint == "" || endpoint == r.Endpoint:
			found = append(found, r)
		default:
			others = append(others, r)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return chooseRelation(found, written, remote)
	case err != nil || id < 0:
		return conversation.Relation{}, misuse("write it as 7 or db:7, as relation-ids prints it", "invalid relation id %.40q", written)
	case len(others) > 0:
		return conversation.Relation{}, notFound(written, "did you mean "+listRelations(others)+"?")
	default:
		return conversation.Relation{}, notFound(written, "this unit has "+listRelations(all))
	}
}

// notFound tells that a relation has ended or never was. Code written for Juju
// looks for the first words.
func notFound(written, cure string) error {
	return misuseError{refuse(conversation.Gone, cure, "relation not found: %.40q", written)}
}

// chooseRelation returns the one of several that is with the other application.
func chooseRelation(several []conversation.Relation, written, remote string) (conversation.Relation, error) {
	var uids []string
	for _, r := range sorted(several) {
		if r.Remote == remote {
			return r, nil
		}
		uids = append(uids, r.UID+" ("+name(r)+" with "+r.Remote+")")
	}
	return conversation.Relation{}, misuse("choose by UID: "+strings.Join(uids, ", "), "several relations are called %.40q", written)
}

// name is a relation as its unit's tools show it.
func name(r conversation.Relation) string { return r.Endpoint + ":" + strconv.Itoa(r.ID) }

func listRelations(all []conversation.Relation) string {
	if len(all) == 0 {
		return "no relations"
	}
	return strings.Join(names(all), ", ")
}

// names returns the names of relations, in order.
func names(all []conversation.Relation) []string {
	called := make([]string, len(all))
	for i, r := range sorted(all) {
		called[i] = name(r)
	}
	return called
}

// sorted returns relations by endpoint and id.
func sorted(all []conversation.Relation) []conversation.Relation {
	return slices.SortedFunc(slices.Values(all), func(a, b conversation.Relation) int {
		return cmp.Or(strings.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.ID, b.ID), strings.Compare(a.Remote, b.Remote))
	})
}

// members returns the names of a relation's other units, in natural order.
func (s session) members(r conversation.Relation) []string {
	return nonNil(unitNames(s.Membership.Units(r)))
}

// chooseMember lists the units and the application that may be named in a relation.
func (s session) chooseMember(r conversation.Relation) string {
	units := s.members(r)
	if len(units) == 0 {
		return fmt.Sprintf("%s has no units yet; --app is %s", name(r), r.Remote)
	}
	return fmt.Sprintf("choose one of %s, or --app", strings.Join(units, ", "))
}
