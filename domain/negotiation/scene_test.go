package negotiation_test

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Scenes put a world up in the words of the people who write declarations.

func values[V any](m map[string]V) []V {
	all := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, m[k])
	}
	return all
}

func (w *world) uid() string {
	w.uids++
	return "uid-" + strconv.Itoa(w.uids)
}

// external puts a Service with an externalName that provides a list.
func (w *world) external(name, provides string) {
	s := w.services[name]
	s.Object = w.object(s.Object, name)
	s.ExternalName = name + ".example.org"
	s.Ports = []application.Port{{Name: "tcp", Number: 5432}}
	s.Annotations = map[string]string{application.KeyProvides: provides}
	w.services[name] = s
}

// service puts a Service that selects the workload of its name.
func (w *world) service(name string, annotations map[string]string) {
	s := w.services[name]
	s.Object = w.object(s.Object, name)
	s.Selector = map[string]string{"app": name}
	s.Ports = []application.Port{{Name: "http", Number: 80}}
	s.Annotations = annotations
	w.services[name] = s
}

func (w *world) port(service string, number int) {
	s := w.services[service]
	s.Ports = []application.Port{{Name: "tcp", Number: number}}
	w.services[service] = s
}

func (w *world) workload(kind application.WorkloadKind, name string, annotations map[string]string) {
	key := string(kind) + "/" + name
	v := w.workloads[key]
	v.Object, v.Kind = w.object(v.Object, name), kind
	v.TemplateLabels = map[string]string{"app": name}
	v.TemplateAnnotations = maps.Clone(annotations)
	w.workloads[key] = v
}

func (w *world) deployment(name string, annotations map[string]string) {
	w.workload(application.Deployment, name, annotations)
}

// consumes puts a Deployment that consumes and relates.
func (w *world) consumes(name, consumes, relations string, more ...string) {
	annotations := map[string]string{application.KeyConsumes: consumes}
	if relations != "" {
		annotations[application.KeyRelations] = relations
	}
	for i := 0; i+1 < len(more); i += 2 {
		annotations[more[i]] = more[i+1]
	}
	w.deployment(name, annotations)
}

// pod puts an injected pod of a workload.
func (w *world) pod(kind application.WorkloadKind, owner, name string) {
	p := application.Pod{OwnerKind: kind, OwnerName: owner, Ordinal: -1, Injected: true}
	p.Object = w.object(p.Object, name)
	w.pods[name] = p
}

// later lets time pass and settles.
func (w *world) later(t require.TestingT, d time.Duration) {
	w.now = w.now.Add(d)
	w.settle(t)
}

// only returns the one relation there is.
func (w *world) only(t require.TestingT) relation.Relation {
	require.Len(t, w.relations, 1)
	return values(w.relations)[0].Relation
}

// between returns the relation that is written requirer:endpoint-provider:endpoint.
func (w *world) between(t require.TestingT, text string) relation.Relation {
	for _, r := range w.relations {
		if r.Requirer.String()+"-"+r.Provider.String() == text {
			return r.Relation
		}
	}
	require.Fail(t, "there is no such relation", "%s among %s", text, w.related())
	return relation.Relation{}
}

// related lists the relations as requirer:endpoint-provider:endpoint.
func (w *world) related() string {
	var all []string
	for _, r := range values(w.relations) {
		all = append(all, r.Requirer.String()+"-"+r.Provider.String())
	}
	return strings.Join(all, " ")
}

// ready returns the condition Ready of a relation, with the whole of its message.
func ready(r relation.Relation) condition.Condition { return condition.Why(r.State.Conditions) }

// says returns a condition of an application; of Ready with the whole of its message.
func (w *world) says(application string, t condition.Type) condition.Condition {
	if t == condition.Ready {
		return condition.Why(w.records[application].State.Conditions)
	}
	c, _ := condition.Find(w.records[application].State.Conditions, t)
	return c
}

// bagOfDB returns what is stored as the bag of an endpoint of db.
func (w *world) bagOfDB(endpoint string) map[string]string {
	return w.databags[relation.DatabagName("db", endpoint)].Data
}

// told returns all that is said of an application: its conditions and what it
// waits for.
func (w *world) told(application string) string {
	var all []string
	for _, c := range w.records[application].State.Conditions {
		all = append(all, c.Message)
	}
	for _, waiting := range w.records[application].State.Waiting {
		all = append(all, waiting.Message)
	}
	return strings.Join(all, "\n")
}

// words splits a list of relations.
func words(text string) []string { return strings.Fields(text) }

// clear takes all declarations away, and the pods.
func (w *world) clear() {
	clear(w.services)
	clear(w.workloads)
	clear(w.pods)
}

// lent is what the bank keeps of a relation with its vault.
func lent(r relation.Relation) []relation.Side {
	return []relation.Side{{Key: r.Key, Role: application.Provider, Relation: r.UID, ID: 7, Interface: "pg", Known: true}}
}

// open is a shelf on which everything is said.
func open() relation.Shelf {
	return relation.Shelf{
		Bag: func(_ relation.Relation, e relation.End) map[string]string {
			return map[string]string{"of": e.Namespace}
		},
		Said: func(_ relation.Relation, e relation.End, _ int) map[string]string {
			return map[string]string{"of": e.Namespace}
		},
		Units: func(relation.End) []application.Unit {
			return []application.Unit{{Number: 0, Address: "10.0.0.9"}, {Number: 1, Gone: application.GoneReplaced}}
		},
		Grants: func(relation.End) []relation.Grant { return nil },
	}
}

// uidOf returns the UID that a namespace has at first.
func uidOf(namespace string) string { return "uid-of-namespace-" + namespace }

// known returns namespaces as an Offer knows them, and named returns them as an Offer names them at first.
func known(names ...string) []relation.Namespace {
	all := named(names...)
	for i := range all {
		all[i].UID = uidOf(all[i].Name)
	}
	return all
}

func named(names ...string) []relation.Namespace {
	var all []relation.Namespace
	for _, name := range names {
		all = append(all, relation.Namespace{Name: name})
	}
	return all
}

// namespaces returns the UIDs of the namespaces that Offers name.
func (w *world) namespaces() map[string]string {
	all := map[string]string{}
	for _, o := range w.offers {
		for _, n := range o.Consumers {
			all[n.Name] = cmp.Or(w.elsewhere[n.Name], uidOf(n.Name))
		}
	}
	return all
}
