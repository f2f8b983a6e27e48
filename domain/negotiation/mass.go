package negotiation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// How many ends of a provider's relations reach its handlers by themselves (TRUST.md T4). Of relations with one
// namespace: five in a minute, and a fifth of them if that is more. Of all of them: five in ten minutes, and half of
// them if that is more.
const (
	shortWindow = time.Minute
	longWindow  = 10 * time.Minute
	halfOfAll   = 2
)

// How many ends an application may owe to its handlers, and of these about relations with one other namespace
// (TRUST.md T2). Beyond that a deleted Relation waits. A record names that many recent ends.
const (
	mostDebts       = 1024
	mostDebtsAbroad = 64
	mostRecent      = 256
)

// tally counts a provider's relations with the applications of one namespace.
type tally struct {
	// living have not ended; short and long have, within those windows and not with the namespace.
	living, short, long int
	// gone is when the last ended with the namespace, which counts as one end; zero if none did. What ended before has
	// ended with it, and what ends later is of a namespace that was made again.
	gone time.Time
}

func (t tally) ends() int {
	if t.gone.IsZero() {
		return t.long
	}
	return t.long + 1
}

// many reports whether too many have ended for one namespace to end by themselves.
func (t tally) many() bool {
	return t.short > mostEnds && t.short*endsPart > t.living+t.short
}

// tallies count a provider's relations by the namespace of their requirers.
type tallies map[string]tally

// many reports whether too many have ended in all, or more than a record tells apart.
func (t tallies) many() bool {
	ends, all := 0, 0
	for _, one := range t {
		ends += one.ends()
		all += one.living + one.ends()
	}
	return ends > mostEnds && ends*halfOfAll > all || ends > mostRecent
}

// mass judges the ends that are found now. It changes no side in place.
type mass struct {
	units
	// about has the names of the sides whose Relation exists.
	about map[string]bool
}

// hold returns the sides after it has held the ends that are too many to reach handlers by themselves, and the recent
// ends of each provider.
func (m mass) hold(all []relation.Side) (held []relation.Side, recent map[string][]relation.RecentEnd) {
	held, recent = slices.Clone(all), map[string][]relation.RecentEnd{}
	for name := range m.providers(all) {
		provided := ofProvider(all, name)
		counted := m.count(provided, m.ends(name, provided))
		for i, s := range held {
			many := counted.many() || counted[s.Requirer.Namespace].many()
			if many && provides(s, name) && m.endsNow(s) {
				held[i] = withEnd(s, func(t *relation.Teardown) { t.Held = true })
			}
		}
		told := merged(m.ends(name, slices.DeleteFunc(ofProvider(held, name), relation.Side.Held)))
		if len(told) > 0 {
			recent[name] = told[:min(len(told), mostRecent)]
		}
	}
	return held, recent
}

// withEnd returns a side with a changed end.
func withEnd(s relation.Side, change func(*relation.Teardown)) relation.Side {
	t := *s.Teardown
	change(&t)
	s.Teardown = &t
	return s
}

// providers names the applications whose handlers know a relation that they provide, or knew one lately.
func (m mass) providers(all []relation.Side) map[string]bool {
	names := map[string]bool{}
	for _, s := range all {
		if s.Role == application.Provider && s.Known {
			names[s.Here().Application] = true
		}
	}
	for _, r := range m.Records {
		if len(r.State.Ends) > 0 {
			names[r.Name] = true
		}
	}
	return names
}

// provides reports whether an application provides the relation of a side, and its handlers know it.
func provides(s relation.Side, name string) bool {
	return s.Role == application.Provider && s.Known && s.Here().Application == name
}

// ofProvider lists the sides of the relations that an application provides.
func ofProvider(all []relation.Side, name string) []relation.Side {
	return slices.DeleteFunc(slices.Clone(all), func(s relation.Side) bool { return !provides(s, name) })
}

// endsNow reports whether the end of a side is found now, and a person has not decided about it.
func (m mass) endsNow(s relation.Side) bool {
	return s.Teardown != nil && s.Decision() == "" && m.sides[pairSide{s.Key, s.Role}].Teardown == nil
}

// ends lists the latest ends of the relations that an application provides, the last first: those of sides, and
// those that its record keeps since their sides are gone. An end that a person has decided about is none of them.
func (m mass) ends(name string, provided []relation.Side) []relation.RecentEnd {
	all := slices.Clone(m.record(m.here(name, "")).State.Ends)
	for _, s := range provided {
		known := func(e relation.RecentEnd) bool { return e.Relation == s.Relation }
		if s.Teardown != nil && s.Choice == "" && !slices.ContainsFunc(all, known) {
			all = append(all, relation.RecentEnd{
				Relation: s.Relation, Namespace: s.Requirer.Namespace, Time: s.Teardown.Since, Reason: s.Teardown.Reason,
			})
		}
	}
	all = slices.DeleteFunc(all, func(e relation.RecentEnd) bool { return !m.Now.Before(e.Time.Add(longWindow)) })
	slices.SortFunc(all, func(a, b relation.RecentEnd) int {
		return cmp.Or(b.Time.Compare(a.Time), strings.Compare(a.Relation, b.Relation))
	})
	return all
}

// merged returns ends without those that a later one has in it: the end of a namespace has all that came before it.
func merged(ends []relation.RecentEnd) []relation.RecentEnd {
	last := map[string]relation.RecentEnd{}
	for _, e := range ends {
		if e.Reason == relation.EndNamespaceDeleted && e.Time.After(last[e.Namespace].Time) {
			last[e.Namespace] = e
		}
	}
	return slices.DeleteFunc(ends, func(e relation.RecentEnd) bool {
		gone, deleted := last[e.Namespace]
		return deleted && e != gone && !e.Time.After(gone.Time)
	})
}

// count counts a provider's relations: those that live, and the latest ends.
func (m mass) count(provided []relation.Side, ends []relation.RecentEnd) tallies {
	counted := tallies{}
	for _, s := range provided {
		if s.Teardown == nil {
			t := counted[s.Requirer.Namespace]
			t.living++
			counted[s.Requirer.Namespace] = t
		}
	}
	for _, e := range ends {
		if t := counted[e.Namespace]; e.Reason == relation.EndNamespaceDeleted && e.Time.After(t.gone) {
			t.gone = e.Time
			counted[e.Namespace] = t
		}
	}
	for _, e := range ends {
		t := counted[e.Namespace]
		if !e.Time.After(t.gone) {
			continue
		}
		t.long++
		if m.Now.Before(e.Time.Add(shortWindow)) {
			t.short++
		}
		counted[e.Namespace] = t
	}
	return counted
}

// follow returns the sides after it has held those of requirers until their providers' have taken note, and as long as
// those are held: a relation whose end may be taken back has ended for neither.
func (m mass) follow(all []relation.Side) []relation.Side {
	providers := map[string]relation.Side{}
	for _, s := range m.unreadable.pairs.undecided() {
		providers[s.Relation] = s
	}
	for _, at := range m.Abroad {
		for _, s := range at.Sides {
			providers[s.Relation] = s
		}
	}
	for _, s := range all {
		if s.Role == application.Provider {
			providers[s.Relation] = s
		}
	}
	all = slices.Clone(all)
	for i, s := range all {
		if s.Role == application.Requirer && s.Known && s.Teardown != nil && s.Decision() == "" {
			provider, there := providers[s.Relation]
			all[i] = m.following(s, provider, there)
		}
	}
	return all
}

// following is follow for the side of one requirer.
func (m mass) following(s, provider relation.Side, there bool) relation.Side {
	pending := there && provider.Known && (provider.Teardown == nil || provider.Held())
	switch {
	case s.Teardown.Held && pending && provider.Teardown == nil && provider.Choice == relation.ChoiceKeep && !m.about[s.Name()]:
		s.Teardown, s.Choice = nil, relation.ChoiceKeep // else the store keeps a held end
	case pending && (s.Teardown.Held || m.endsNow(s)):
		s = withEnd(s, func(t *relation.Teardown) { t.Held = true })
	case s.Teardown.Held:
		s = withEnd(s, func(t *relation.Teardown) { t.Held, t.Since = false, m.Now })
	}
	return s
}

// debts counts the ends that each application owes to its handlers, by debtor.
type debts map[relation.End]int

// debtsOf counts the debts of sides.
func debtsOf(sides []relation.Side) debts {
	d := debts{}
	for _, one := range sides {
		if one.Teardown != nil && !one.Teardown.Over() {
			d[debtor(one)]++
		}
	}
	return d
}

// debtor identifies an application and the namespace of the other ends of its relations.
func debtor(s relation.Side) relation.End {
	here := s.Here()
	return relation.End{Namespace: s.Other(here).Namespace, Application: here.Application}
}

// mayOwe reports whether an application may owe one end more.
func (d debts) mayOwe(s relation.Side, namespace string) bool {
	here, all := debtor(s), 0
	for of, n := range d {
		if of.Application == here.Application {
			all += n
		}
	}
	return all < mostDebts && (here.Namespace == namespace || d[here] < mostDebtsAbroad)
}

// endsHeld names the ends of an application's relations that wait for a person.
func endsHeld(namespace string, all []relation.Side, name string) []condition.Condition {
	var texts []string
	for _, s := range all {
		if s.Held() && provides(s, name) {
			texts = append(texts, s.Other(s.Here()).Written(namespace)+" ("+s.Name()+")")
		}
	}
	if len(texts) == 0 {
		return nil
	}
	slices.Sort(texts)
	return []condition.Condition{condition.New(condition.EndsHeld, true, string(condition.EndsHeld),
		"many relations ended at once, and no handler runs for these until a person decides: "+
			"orcon ends confirm, or orcon ends keep, -n "+namespace+"; relations with "+listed(texts))}
}
