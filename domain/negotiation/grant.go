package negotiation

import (
	"maps"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// grants has what becomes of the Secrets that ends grant.
type grants struct {
	// byEnd has those of this namespace and of others, of has those of each application
	// of this namespace in order of endpoint.
	byEnd map[relation.End]relation.Grant
	of    map[string][]relation.Grant
	// refusals has why an application's Secrets are not granted.
	refusals map[string][]application.Fault
	wake     time.Time
}

// grant decides which Secrets the applications of the namespace grant. What a record
// grants by an endpoint that is declared no longer goes on while a relation is about
// it, as its data does (SAFETY.md L5).
func grant(f *facts, known relations) grants {
	g := granting{f, byName(f.Secrets), grants{
		byEnd: maps.Clone(f.grantedAbroad), of: map[string][]relation.Grant{}, refusals: map[string][]application.Fault{},
	}}
	for name := range f.apps {
		g.grantBy(name, known)
	}
	for _, r := range f.Records {
		if _, there := f.apps[r.Name]; !there {
			g.grantBy(r.Name, known)
		}
	}
	return g.grants
}

// granting is a run of grant.
type granting struct {
	*facts
	// sources has the Secrets that are known, by name.
	sources map[string]secret.Source
	grants
}

func (g *granting) grantBy(name string, known relations) {
	a := g.apps[name]
	secrets := maps.Clone(a.Secrets)
	if secrets == nil {
		secrets = map[string]string{}
	}
	for _, was := range g.record(g.here(name, "")).State.Grants {
		_, declared := a.Endpoint(was.Endpoint)
		if _, named := secrets[was.Endpoint]; !named && !declared && known.inUse(g.here(name, was.Endpoint)) {
			secrets[was.Endpoint] = was.Secret
		}
	}
	for _, endpoint := range slices.Sorted(maps.Keys(secrets)) {
		g.judge(g.here(name, endpoint), secrets[endpoint])
	}
	if len(secrets) > 0 && !g.LookAgain.IsZero() {
		g.wake = g.LookAgain
	}
}

// judge notes what becomes of one Secret. Another version, also of another
// Secret, is another revision.
func (g *granting) judge(e relation.End, name string) {
	is := relation.Grant{Endpoint: e.Endpoint}
	for _, was := range g.record(e).State.Grants {
		if was.Endpoint == e.Endpoint {
			is = was
		}
	}
	source, seen := g.sources[name]
	if !seen {
		source = secret.Source{Namespace: g.Namespace, Name: name, Sight: secret.Missing}
	}
	reason, message := source.Refusal(e.Application, e.Endpoint, g.Account)
	if asBefore(is, name, source) {
		reason, source.Version = "", is.Version
	}
	if is.Refused = reason != ""; is.Refused {
		why := application.Fault{Reason: reason, Message: e.Endpoint + ": " + message}
		g.refusals[e.Application] = append(g.refusals[e.Application], why)
	} else if is.Version != source.Version {
		is.Version = source.Version
		is.Revision++
	}
	is.Secret = name
	if endpoint, declared := g.apps[e.Application].Endpoint(e.Endpoint); declared || is.Key == "" {
		is.Key = g.referenceKey(endpoint)
	}
	g.byEnd[e] = is
	g.of[e.Application] = append(g.of[e.Application], is)
}

// asBefore reports whether a Secret was granted and is unreadable now.
func asBefore(is relation.Grant, name string, source secret.Source) bool {
	return source.Sight == secret.Unreadable && is.Secret == name && is.Revision > 0 && !is.Refused
}

// referenceKey returns the key under which a reference stands: the only field that the
// interface calls secret, or the only one of several that must be there, else secret.
func (g *granting) referenceKey(e application.Endpoint) string {
	i, _ := g.Interfaces.Find(e.Interface, e.Version)
	fields := i.Bag(e.Role, true).Secrets()
	if len(fields) > 1 {
		required := i.Missing(e.Role, true, nil)
		fields = slices.DeleteFunc(fields, func(f string) bool { return !slices.Contains(required, f) })
	}
	if len(fields) == 1 {
		return fields[0]
	}
	return "secret"
}

// byName returns Secrets by their names.
func byName(secrets []secret.Source) map[string]secret.Source {
	all := map[string]secret.Source{}
	for _, s := range secrets {
		all[s.Name] = s
	}
	return all
}
