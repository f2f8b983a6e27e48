package negotiation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// facts are a namespace as last seen, every list in order and indexed.
type facts struct {
	relation.Snapshot
	directory
	unreadable unreadable
	// records lists what is remembered of applications, by namespace and name.
	records map[relation.End]relation.Record
	sides   sides
	// stored has the bags that all relations of an end share, said the application bags of single
	// relations, and saidByUnits the bags of this namespace's units.
	stored      map[relation.End]relation.Databag
	said        map[speaker]map[string]string
	saidByUnits map[speaker][]relation.Databag
	// consents has the names of the Offers of other namespaces that cover an end, and lent
	// the Secrets that those Offers list.
	consents, lent map[relation.End][]string
	// uids has the UIDs of the other namespaces.
	uids map[string]string
	// grantedAbroad has what other namespaces grant.
	grantedAbroad map[relation.End]relation.Grant
}

// speaker identifies an application that says something in a relation, by the relation's
// UID.
type speaker struct{ relation, namespace, application string }

// index returns the facts of a snapshot, which stays as it is.
func index(s relation.Snapshot) *facts {
	unreadable := newUnreadable(s)
	s = inOrder(unreadable.listed(s))
	known := sides{}
	known.add(s.Sides)
	s.Consumers = slices.DeleteFunc(s.Consumers, func(r relation.Relation) bool { return known.outlived(r, s.UID, unreadable.pairs) })
	f := &facts{
		Snapshot: s, unreadable: unreadable, directory: newDirectory(s.Namespace, s.Orphans), sides: known,
		records: map[relation.End]relation.Record{}, stored: map[relation.End]relation.Databag{}, said: map[speaker]map[string]string{}, saidByUnits: map[speaker][]relation.Databag{},
		consents: map[relation.End][]string{}, lent: map[relation.End][]string{}, uids: map[string]string{},
		grantedAbroad: map[relation.End]relation.Grant{},
	}
	for i, a := range f.Applications {
		f.Applications[i] = withhold(a, s.Interfaces, s.Schema)
		f.enter(f.Applications[i])
	}
	for _, b := range f.Databags {
		f.hear(s.Namespace, b)
		if b.Relation != "" && b.Unit != "" {
			by := speaker{b.Relation, s.Namespace, b.Application}
			f.saidByUnits[by] = append(f.saidByUnits[by], b)
		}
	}
	for _, r := range f.Records {
		f.records[relation.End{Namespace: s.Namespace, Application: r.Name}] = r
	}
	for _, from := range f.Abroad {
		f.arrive(from)
	}
	for i, r := range f.Relations {
		if r.State.ID == 0 {
			f.Relations[i].UID = f.sides.again(r.Key, r.UID)
		}
	}
	return f
}

// hear enters the bag of an application.
func (f *facts) hear(namespace string, b relation.Databag) {
	if b.Relation == "" {
		f.stored[relation.End{Namespace: namespace, Application: b.Application, Endpoint: b.Endpoint}] = b
	} else if b.Unit == "" {
		f.said[speaker{b.Relation, namespace, b.Application}] = b.Data
	}
}

// arrive enters what is known of another namespace, and what that offers to this one.
func (f *facts) arrive(from relation.Abroad) {
	for _, r := range from.Records {
		f.records[relation.End{Namespace: from.Namespace, Application: r.Name}] = r
		for _, g := range r.State.Grants {
			f.grantedAbroad[relation.End{Namespace: from.Namespace, Application: r.Name, Endpoint: g.Endpoint}] = g
		}
	}
	f.sides.add(from.Sides)
	for _, b := range from.Databags {
		f.hear(from.Namespace, b)
	}
	f.uids[from.Namespace] = from.UID
	me := relation.Namespace{Name: f.Namespace, UID: f.UID}
	for _, o := range from.Offers {
		e := o.End()
		application := relation.End{Namespace: e.Namespace, Application: e.Application}
		switch {
		case !from.OptedIn || e.Namespace != from.Namespace:
		case o.Covers(me) || slices.ContainsFunc(f.Relations, o.Continues):
			f.consents[e], f.lent[e] = append(f.consents[e], o.Name), append(f.lent[e], o.Secrets...)
			f.accept(e, f.record(e).State.Endpoints)
			f.unknown[application] = f.unreadable.record(e)
		case o.Outlived(me):
			f.outlived[application] = true
		}
	}
}

// record returns what is remembered of the application of an end.
func (f *facts) record(e relation.End) relation.Record {
	return f.records[relation.End{Namespace: e.Namespace, Application: e.Application}]
}

// here returns an end of this namespace.
func (f *facts) here(app, endpoint string) relation.End {
	return relation.End{Namespace: f.Namespace, Application: app, Endpoint: endpoint}
}

// inOrder returns the snapshot with every list sorted. The caller's are left
// as they are.
func inOrder(s relation.Snapshot) relation.Snapshot {
	s.Applications = sorted(s.Applications, func(a, b application.Application) int { return strings.Compare(a.Name, b.Name) })
	s.Orphans = sorted(s.Orphans, func(a, b application.Fault) int {
		return cmp.Or(strings.Compare(a.Object, b.Object), strings.Compare(a.Message, b.Message))
	})
	s.Relations = sorted(s.Relations, relation.Compare)
	s.Databags = sorted(s.Databags, func(a, b relation.Databag) int {
		return cmp.Or(strings.Compare(a.Application, b.Application), strings.Compare(a.Endpoint, b.Endpoint),
			strings.Compare(a.Relation, b.Relation), strings.Compare(a.Unit, b.Unit))
	})
	s.Outboxes = sorted(s.Outboxes, func(a, b relation.Outbox) int {
		return cmp.Or(strings.Compare(a.Application, b.Application), strings.Compare(a.Unit, b.Unit))
	})
	s.Sides = sorted(s.Sides, func(a, b relation.Side) int { return strings.Compare(a.Name(), b.Name()) })
	s.Records = sorted(s.Records, func(a, b relation.Record) int { return strings.Compare(a.Name, b.Name) })
	s.Offers = sorted(s.Offers, func(a, b relation.Offer) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	s.Abroad = sorted(s.Abroad, func(a, b relation.Abroad) int { return strings.Compare(a.Namespace, b.Namespace) })
	s.Consumers = sorted(s.Consumers, func(a, b relation.Relation) int { return strings.Compare(a.UID, b.UID) })
	return s
}

func sorted[T any](all []T, compare func(a, b T) int) []T {
	all = slices.Clone(all)
	slices.SortFunc(all, compare)
	return all
}

// withhold returns an application without the secrets that it declares in plain text: they enter no bag (RELATIONS.md
// P5). Their author may have written them before the interface was known, or while the webhook was away, and finds
// them in a condition.
func withhold(a application.Application, known schema.Catalog, mode schema.Mode) application.Application {
	if mode == schema.Off {
		return a
	}
	bags, faults := maps.Clone(a.Bags), []application.Fault(nil)
	for _, e := range a.Endpoints {
		i, found := known.Find(e.Interface, e.Version)
		if !found || bags[e.Name] == nil {
			continue
		}
		kept, withheld := i.Withhold(e.Role, true, bags[e.Name])
		bags[e.Name] = kept
		for _, v := range withheld {
			faults = append(faults, application.Fault{Application: a.Name, Object: a.Name, Reason: application.ReasonInvalid,
				Message: fmt.Sprintf("%s%s: left out: %s", application.PrefixData, e.Name, v.Declared(e.Name).Error())})
		}
	}
	if len(faults) > 0 {
		a.Bags, a.Faults = bags, slices.Concat(a.Faults, faults)
	}
	return a
}
