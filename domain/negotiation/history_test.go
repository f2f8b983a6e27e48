package negotiation_test

import (
	"strconv"
	"time"

	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A history is random things that people and clusters do, drawn from few enough
// names that they meet.

func names() []string { return []string{"web", "api", "db", "db-alias", "cache"} }

// history lets so many things happen to the world, which the controller sees
// after each, after several, or is killed over.
func history(t *rapid.T, w *world, most int) {
	for range rapid.IntRange(1, most).Draw(t, "length") {
		happen(t, w)
		switch rapid.IntRange(0, 5).Draw(t, "controller") {
		case 0: // looks later
		case 1:
			decisions, _ := w.negotiate(t)
			w.run(decisions, rapid.IntRange(0, 6).Draw(t, "writes"))
			w.check(t)
		default:
			w.settle(t)
		}
	}
}

func happen(t *rapid.T, w *world) {
	switch rapid.IntRange(0, 16).Draw(t, "event") {
	case 0, 1, 2:
		putService(t, w)
	case 3, 4, 5:
		putWorkload(t, w)
	case 6:
		drop(t, w.services)
	case 7:
		drop(t, w.workloads)
	case 8, 9:
		putPod(t, w)
	case 10:
		drop(t, w.pods)
	case 11, 12:
		w.now = w.now.Add(rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, 5 * time.Minute, time.Hour, 25 * time.Hour}).Draw(t, "later"))
	case 13:
		w.finishRollouts()
	case 14:
		byHand(t, w)
	case 15:
		w.optedIn = rapid.IntRange(0, 3).Draw(t, "opted in") > 0
	case 16:
		offers(t, w)
	}
}

func drop[V any](t *rapid.T, m map[string]V) {
	if all := sortedNames(m); len(all) > 0 {
		delete(m, rapid.SampledFrom(all).Draw(t, "removed"))
	}
}

// object returns a new object, or the one there is, edited.
func (w *world) object(old application.Object, name string) application.Object {
	old.Name = name
	if old.UID == "" {
		old.UID, old.Created = w.uid(), w.now
	}
	return old
}

func putService(t *rapid.T, w *world) {
	name := rapid.SampledFrom(names()).Draw(t, "service")
	s := w.services[name]
	s.Object = w.object(s.Object, name)
	s.Selector, s.ExternalName, s.Ports, s.Labels, s.Annotations = nil, "", nil, nil, nil
	if rapid.Bool().Draw(t, "selects") {
		s.Selector = map[string]string{"app": rapid.SampledFrom(names()).Draw(t, "selected")}
	} else {
		s.ExternalName = rapid.SampledFrom([]string{"one.example.org", "two.example.org"}).Draw(t, "external")
	}
	if rapid.Bool().Draw(t, "ports") {
		s.Ports = []application.Port{{Name: "http", Number: rapid.IntRange(80, 81).Draw(t, "port")}}
	}
	if provides := rapid.SampledFrom([]string{"", "sse", "sse", "main:db@1,spare:db@2", "main:db", "main:db,sse"}).Draw(t, "provides"); provides != "" {
		s.Annotations = with(s.Annotations, application.KeyProvides, provides)
	}
	if rapid.IntRange(0, 4).Draw(t, "consumes too") == 0 {
		s.Annotations = consumer(t, s.Annotations)
	}
	w.services[name] = s
}

// consumer adds what a consumer may say of itself.
func consumer(t *rapid.T, annotations map[string]string) map[string]string {
	choose := func(key string, values ...string) {
		if v := rapid.SampledFrom(values).Draw(t, key); v != "" {
			annotations = with(annotations, key, v)
		}
	}
	choose(application.KeyConsumes, "", "sse", "sse", "sse?,db:db@1", "db:db", "db:db!1", "db:db,other:db", "sse:db")
	choose(application.KeyRelations, "", "db", "db", "api", "db-alias", "db,cache", "db=db", "db=db:main,sse=api", "web", "cache.other,db.shop", "db=db:spare")
	choose(application.KeyPeers, "", "", "ring:gossip", "sse:gossip")
	choose(application.KeyOnChange, "", "", "restart")
	choose(application.KeyGate, "", "none", "stale", "stale")
	choose(application.KeyRetain, "", "", "1h", "0s", "20s")
	choose(application.PrefixData+"db", "", "", "database: orders", "host: over", "{host: a b, password: plain}", "not a map")
	return annotations
}

func putWorkload(t *rapid.T, w *world) {
	name := rapid.SampledFrom(names()).Draw(t, "workload")
	kind := rapid.SampledFrom([]application.WorkloadKind{application.Deployment, application.Deployment, application.StatefulSet, application.Job}).Draw(t, "kind")
	key := string(kind) + "/" + name
	v := w.workloads[key]
	v.Object, v.Kind = w.object(v.Object, name), kind
	v.Replicas = rapid.IntRange(0, 2).Draw(t, "replicas")
	v.TemplateLabels = map[string]string{"app": rapid.SampledFrom([]string{name, name, "web"}).Draw(t, "labels")}
	v.TemplateAnnotations = consumer(t, nil)
	if rapid.IntRange(0, 4).Draw(t, "provides too") == 0 {
		v.TemplateAnnotations = with(v.TemplateAnnotations, application.KeyProvides, "main:db")
	}
	if rapid.IntRange(0, 5).Draw(t, "renamed") == 0 {
		v.TemplateAnnotations = with(v.TemplateAnnotations, application.KeyApplication, rapid.SampledFrom(names()).Draw(t, "application"))
	}
	w.workloads[key] = v
}

func putPod(t *rapid.T, w *world) {
	p := application.Pod{Ordinal: -1, Injected: rapid.IntRange(0, 4).Draw(t, "injected") > 0}
	if all := sortedNames(w.workloads); len(all) > 0 && rapid.IntRange(0, 4).Draw(t, "owned") > 0 {
		owner := w.workloads[rapid.SampledFrom(all).Draw(t, "owner")]
		p.OwnerKind, p.OwnerName, p.Labels = owner.Kind, owner.Name, owner.TemplateLabels
		p.Name = owner.Name + "-" + strconv.Itoa(w.uids)
		if owner.Kind == application.StatefulSet {
			p.Ordinal = rapid.IntRange(0, 2).Draw(t, "ordinal")
			p.Name = owner.Name + "-" + strconv.Itoa(p.Ordinal)
		}
	} else {
		p.Name = rapid.SampledFrom(names()).Draw(t, "bare pod")
		p.OwnerKind, p.OwnerName, p.Annotations = application.BarePod, p.Name, consumer(t, nil)
	}
	p.Finished = rapid.IntRange(0, 9).Draw(t, "finished") == 0
	annotations := p.Annotations
	p.Object = w.object(application.Object{Labels: p.Labels}, p.Name)
	p.Annotations = annotations
	w.pods[p.Name] = p
}

// offers lets namespace other offer its cache, or not, and somebody elsewhere use
// what is offered here.
func offers(t *rapid.T, w *world) {
	w.abroad = []relation.Abroad{{
		Namespace: "other", UID: uidOf("other"), OptedIn: rapid.Bool().Draw(t, "other opted in"),
		Records: []relation.Record{{Name: "cache", State: relation.ApplicationState{Endpoints: []application.Endpoint{
			{Name: "main", Role: application.Provider, Interface: "db"}, {Name: "sse", Role: application.Provider, Interface: "sse"},
		}, Units: []application.Unit{{Number: 0, Handles: true}, {Number: 1}}}}},
		Databags: []relation.Databag{{Application: "cache", Endpoint: "main", Data: map[string]string{"host": "cache.other"}}},
	}}
	for _, endpoint := range []string{"main", "sse"} {
		if rapid.Bool().Draw(t, endpoint+" offered") {
			w.abroad[0].Offers = append(w.abroad[0].Offers, relation.Offer{Namespace: "other", Name: endpoint, Application: "cache", Endpoint: endpoint, Consumers: known(namespace)})
		}
	}
	w.offers["db"] = relation.Offer{Namespace: namespace, Name: "db", Application: "db", Endpoint: "main", Consumers: known("office")}
	used := relation.Relation{Key: relation.Key{Requirer: relation.End{Namespace: "office", Application: "db", Endpoint: "store"}, Provider: relation.End{Namespace: namespace, Application: "db", Endpoint: "main"}}, UID: "uid-of-office"}
	used.State.Offer = rapid.SampledFrom([]string{"", "db"}).Draw(t, "used by")
	if rapid.Bool().Draw(t, "suspended") {
		used.State.SuspendedSince = epoch()
	}
	w.consumers = []relation.Relation{used}
}

// byHand makes or deletes a relation as a person does.
func byHand(t *rapid.T, w *world) {
	if all := sortedNames(w.relations); len(all) > 0 && rapid.Bool().Draw(t, "deletes") {
		name := rapid.SampledFrom(all).Draw(t, "relation")
		w.remove(name, w.relations[name].UID)
		return
	}
	end := func(label string) relation.End {
		return relation.End{
			Namespace: namespace, Application: rapid.SampledFrom(names()).Draw(t, label),
			Endpoint: rapid.SampledFrom([]string{"sse", "db", "main"}).Draw(t, label+" endpoint"),
		}
	}
	w.relate(relation.Pair{Key: relation.Key{Requirer: end("requirer"), Provider: end("provider")}, Interface: "sse"}, w.uid(), false, 0)
}

func (w *world) finishRollouts() {
	for key, v := range w.workloads {
		v.RollingOut = false
		w.workloads[key] = v
	}
}
