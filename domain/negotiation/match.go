package negotiation

import (
	"fmt"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// pairs returns each way in which a and b can be related, restricted to the
// endpoints that the reference names, in order of key.
func pairs(a, b end, ref application.Reference) []relation.Pair {
	var found []relation.Pair
	for _, mine := range a.Endpoints {
		for _, theirs := range b.Endpoints {
			if ref.Endpoint != "" && mine.Name != ref.Endpoint || ref.RemoteEndpoint != "" && theirs.Name != ref.RemoteEndpoint {
				continue
			}
			if pair, ok := fit(a.at(mine), b.at(theirs)); ok {
				found = append(found, pair)
			}
		}
	}
	slices.SortFunc(found, func(x, y relation.Pair) int { return strings.Compare(x.String(), y.String()) })
	return found
}

// end is an application and where it is.
type end struct {
	namespace string
	application.Application
}

// site is one endpoint and where it is.
type site struct {
	relation.End
	application.Endpoint
}

func (e end) at(endpoint application.Endpoint) site {
	return site{relation.End{Namespace: e.namespace, Application: e.Name, Endpoint: endpoint.Name}, endpoint}
}

// fit reports whether two endpoints relate (RELATIONS.md M1).
func fit(a, b site) (relation.Pair, bool) {
	if a.Role == application.Provider {
		a, b = b, a
	}
	sameApplication := a.Namespace == b.Namespace && a.Application == b.Application
	if a.Role != application.Requirer || b.Role != application.Provider || sameApplication || a.Interface != b.Interface {
		return relation.Pair{}, false
	}
	version, ok := commonVersion(a.Version, b.Version)
	return relation.Pair{Key: relation.Key{Requirer: a.End, Provider: b.End}, Interface: a.Interface, Version: version}, ok
}

// commonVersion returns the highest version that both accept; 0 accepts any.
func commonVersion(a, b int) (int, bool) {
	return max(a, b), a == 0 || b == 0 || a == b
}

// infer completes a relation that names applications only. It never picks one
// of several endpoints: a database chosen by sort order is an outage waiting
// for the next application to be deployed (RELATIONS.md M2).
func infer(a, b end, ref application.Reference) (relation.Pair, *relation.Obstacle) {
	found := pairs(a, b, ref)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return relation.Pair{}, &relation.Obstacle{Reference: ref, Reason: relation.ReasonNoMatch, Message: mismatch(a, b, ref)}
	default:
		var all []string
		for _, p := range found {
			all = append(all, p.WrittenBy(a.Name).String())
		}
		return relation.Pair{}, &relation.Obstacle{Reference: ref, Reason: relation.ReasonAmbiguous, Stuck: true, Message: fmt.Sprintf(
			"%q is ambiguous: write one of %s in %s", ref, strings.Join(all, ", "), application.KeyRelations)}
	}
}

// mismatch says why no endpoints fit: a name that is not there, or all that must
// agree.
func mismatch(a, b end, ref application.Reference) string {
	missing := func(e end, name string) bool { return name != "" && !declares(e.Application, name) }
	switch {
	case a.namespace == b.namespace && a.Name == b.Name:
		return fmt.Sprintf("%s names its own application: name another one", ref)
	case missing(b, ref.RemoteEndpoint):
		return lacks(b, ref.RemoteEndpoint)
	case missing(a, ref.Endpoint):
		return lacks(a, ref.Endpoint)
	case len(a.Endpoints) == 0:
		return declaresNone(a.Name, b.Name)
	case len(b.Endpoints) == 0:
		return declaresNone(b.Name, a.Name)
	default:
		return fmt.Sprintf("no endpoint of %s (%s) matches one of %s (%s): interface, version and role must agree%s", a.Name,
			offersOf(a), b.Name, offersOf(b), misspelt(a, b, ref))
	}
}

// declaresNone says that an application without endpoints cannot relate to another one.
func declaresNone(bare, other string) string {
	return fmt.Sprintf("%[1]s declares no endpoint, so %[2]s cannot relate to it: add %[3]s or %[4]s to %[1]s", bare, other,
		application.KeyConsumes, application.KeyProvides)
}

// misspelt asks whether an interface of a is meant to be one that b has; empty if none
// is alike.
func misspelt(a, b end, ref application.Reference) string {
	var known []string
	for _, e := range b.Endpoints {
		if e.Role == application.Provider && (ref.RemoteEndpoint == "" || e.Name == ref.RemoteEndpoint) {
			known = append(known, e.Interface)
		}
	}
	for _, e := range a.Endpoints {
		if e.Role != application.Requirer || ref.Endpoint != "" && e.Name != ref.Endpoint || slices.Contains(known, e.Interface) {
			continue
		}
		if near := spelling.Nearest(e.Interface, known); near != "" {
			return fmt.Sprintf("; is interface %s of %s meant to be %s?", e.Interface, e.Name, near)
		}
	}
	return ""
}

// offersOf lists an application's endpoints for a message.
func offersOf(e end) string {
	var all []string
	for _, x := range e.Endpoints {
		text := fmt.Sprintf("%s %s:%s", x.Role, x.Name, x.Interface)
		if x.Version > 0 {
			text += fmt.Sprintf("@%d", x.Version)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
