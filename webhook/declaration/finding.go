package declaration

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/review"
)

// finding is a problem and where it is.
type finding struct {
	application.Problem
	// path is the field that holds the key; empty if the key is a path itself.
	path string
	// about is the value that it is about, which no message has.
	about string
}

// namespacePolicy is what the objects of one namespace are judged by, besides the rules
// for all.
type namespacePolicy struct {
	interfaces schema.Catalog
	mode       schema.Mode
}

// Error names the field, the entry, the reason and the cure.
func (f finding) Error() string {
	if f.path == "" {
		return f.Problem.Error()
	}
	return f.path + "[" + f.Key + "]" + strings.TrimPrefix(f.Problem.Error(), f.Key)
}

// findings judges the places of an object. On an update only what this request changed
// counts: what was admitted before must not prevent another change.
func (l namespacePolicy) findings(now, before []place, operation string) []finding {
	var found []finding
	for i, p := range now {
		fresh := l.judge(p)
		if operation == review.Update {
			known := l.judge(before[i])
			fresh = slices.DeleteFunc(fresh, func(f finding) bool { return slices.Contains(known, f) })
		}
		found = append(found, fresh...)
	}
	return found
}

// consumed returns the endpoints on which something is required.
func consumed(d application.Declaration) []application.Endpoint {
	return slices.DeleteFunc(slices.Clone(d.Endpoints), func(e application.Endpoint) bool { return e.Role != application.Requirer })
}

// judge returns what is wrong with what is written in a place.
func (l namespacePolicy) judge(p place) []finding {
	declared, problems := application.Parse(p.labels, union(p.beside, p.annotations))
	consumes := consumed(declared)
	_, left := injection.Variables(consumes, injection.Fields(l.interfaces.Fields).Of(consumes), declared.Env)
	problems = append(problems, left...)
	if p.pod != nil {
		_, wrong := injection.ParseOptions(p.shape(), injection.DefaultConfig().Agent)
		problems = append(problems, wrong...)
	}
	if p.elsewhere {
		problems = append(problems, p.misplaced()...)
	}
	found := slices.Concat(l.unfit(declared), l.unknown(declared), l.misspelt(declared))
	found = append(found, p.portless(declared)...)
	for _, problem := range problems {
		found = append(found, finding{Problem: problem, about: p.value(problem.Key)})
	}
	found = slices.DeleteFunc(found, func(f finding) bool { return !p.wrote(f.Key) })
	for i := range found {
		found[i].path = p.field(found[i].Key)
	}
	return found
}

// unfit returns what of the declared data does not fit its interface, as far as
// that is known and this object says which it is (SAFETY.md I27).
func (l namespacePolicy) unfit(declared application.Declaration) []finding {
	if l.mode == schema.Off {
		return nil
	}
	var found []finding
	for _, e := range declared.Endpoints {
		i, known := l.interfaces.Find(e.Interface, e.Version)
		if !known {
			continue
		}
		bag := declared.Data[e.Name]
		for _, v := range i.Check(e.Role, true, bag) {
			field, _, _ := strings.Cut(v.Path, "/")
			found = append(found, finding{about: bag[field], Problem: application.Problem{
				Key: application.PrefixData + e.Name, Entry: v.Path, Reason: v.Reason, Cure: cureOf(v), Warning: !l.mode.Refuses(v),
			}})
		}
	}
	return found
}

// unknown warns of interfaces that are not known and that are most likely misspelt, and of
// versions that a known interface does not have.
func (l namespacePolicy) unknown(declared application.Declaration) []finding {
	if l.mode == schema.Off {
		return nil
	}
	var found []finding
	for _, e := range declared.Endpoints {
		if near := l.interfaces.Near(e.Interface); near != "" {
			found = append(found, finding{about: e.Interface, Problem: application.Problem{
				Key: e.Role.Key(), Entry: e.Interface, Reason: "no such interface is known, so its data is not checked", Cure: "did you mean " +
					near + "?", Warning: true,
			}})
		}
		if versions := l.interfaces.Versions(e.Interface); len(versions) > 0 && e.Version > 0 && !slices.Contains(versions, e.Version) {
			entry := fmt.Sprintf("%s@%d", e.Interface, e.Version)
			found = append(found, finding{about: entry, Problem: application.Problem{
				Key: e.Role.Key(), Entry: entry, Reason: "no such version is known, so its data is not checked",
				Cure: fmt.Sprintf("the versions of %s are %v", e.Interface, versions), Warning: true,
			}})
		}
	}
	return found
}

// misspelt warns of keys that are most likely fields of their interface, and misspelt: in the data
// of an endpoint, and in tengu.io/env. An interface may have other keys as well.
func (l namespacePolicy) misspelt(declared application.Declaration) []finding {
	if l.mode == schema.Off {
		return nil
	}
	var found []finding
	for _, e := range declared.Endpoints {
		i, _ := l.interfaces.Find(e.Interface, e.Version)
		found = append(found, nearFields(i, e.Role, application.PrefixData+e.Name, slices.Sorted(maps.Keys(declared.Data[e.Name])))...)
		if e.Role == application.Requirer {
			found = append(found, nearFields(i, application.Provider, application.KeyEnv, declared.Env[e.Name])...)
		}
	}
	return found
}

// nearFields returns a warning for each of the keys that is no field of an interface and is near to
// one.
func nearFields(i schema.Interface, role application.Role, at string, keys []string) []finding {
	var fields []string
	for _, f := range i.Fields(role) {
		fields = append(fields, f.Name)
	}
	var found []finding
	for _, key := range keys {
		near := spelling.Nearest(key, fields)
		if near == "" || slices.Contains(fields, key) {
			continue
		}
		found = append(found, finding{about: key, Problem: application.Problem{
			Key: at, Entry: key, Reason: fmt.Sprintf("interface %s has no such field", i.Name), Cure: "did you mean " + near + "?", Warning: true,
		}})
	}
	return found
}

// needsPort is the interface whose consumers need a port: those of others know one.
const needsPort = "http"

// portless warns of an http endpoint of a Service that has no port and gives none in its
// data: what consumers receive is complete, and has no port and no url.
func (p place) portless(declared application.Declaration) []finding {
	var found []finding
	for _, e := range declared.Endpoints {
		data := declared.Data[e.Name]
		if !p.noPort || e.Role != application.Provider || e.Interface != needsPort || data["port"] != "" || data["url"] != "" {
			continue
		}
		found = append(found, finding{Problem: application.Problem{
			Key: e.Role.Key(), Entry: e.Name, Reason: "the Service has no port, so that consumers receive its host without port and url",
			Cure: "add spec.ports, or a port to its data", Warning: true,
		}})
	}
	return found
}

// cureOf says what would fit.
func cureOf(v schema.Violation) string {
	if v.Expected == "" {
		return ""
	}
	return "expected " + v.Expected
}

// misplaced warns of keys that count on pods only (SAFETY.md I23).
func (p place) misplaced() []application.Problem {
	var problems []application.Problem
	for _, key := range slices.Sorted(maps.Keys(p.annotations)) {
		if application.OfPod(key, p.annotations[key]) {
			problems = append(problems, application.Problem{Key: key, Reason: "it has no effect here, because it is read from pods only",
				Cure: "write it in the pod template", Warning: true})
		}
	}
	if out := p.annotations[application.KeyInject]; out != "" {
		_, wrong := injection.ParseOptions(place{annotations: map[string]string{application.KeyInject: out}}.shape(), injection.AgentConfig{})
		problems = append(problems, wrong...)
	}
	return problems
}

// refusals joins the findings that the object must be refused for.
func refusals(found []finding) error {
	var refused []error
	for _, f := range found {
		if !f.Warning {
			refused = append(refused, f)
		}
	}
	return errors.Join(refused...)
}

func warnings(found []finding) []finding {
	return slices.DeleteFunc(slices.Clone(found), func(f finding) bool { return !f.Warning })
}
