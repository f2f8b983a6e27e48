package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// here returns an end in the world's namespace.
func here(application, endpoint string) relation.End {
	return relation.End{Namespace: namespace, Application: application, Endpoint: endpoint}
}

// apply creates a Relation object as kubectl does.
func (w *world) apply(name string, requirer, provider relation.End, iface string, version int) {
	w.relations[name] = kept{relation.Relation{
		Key: relation.Key{Requirer: requirer, Provider: provider}, Name: name, UID: w.uid(), Object: "object-" + w.uid(),
		Interface: iface, Version: version, Created: w.now,
	}, false}
}

// bookshop has a blog that requires pg, a db that provides it, and a pod that waits.
func bookshop() *world {
	w := newWorld()
	w.consumes("blog", "store:pg", "")
	w.external("db", "main:pg")
	w.pod(application.Deployment, "blog", "blog-1")
	return w
}

// A Relation object is checked as an annotation is (RELATIONS.md M1, M3, M6).
func TestManualRelationsAreChecked(t *testing.T) {
	tests := map[string]struct {
		why     string
		arrange func(w *world)
		// requirer and provider are blog:store and db:main unless set.
		requirer, provider relation.End
		iface              string
		version            int
		reason, message    string
		waits              bool
	}{
		"Fits":       {why: "M1: interface, version and roles agree", reason: relation.ReasonComplete},
		"AnyVersion": {why: "M1: a declaration without a version accepts any", version: 3, reason: relation.ReasonComplete},
		"NoProvider": {
			why: "a provider that was never there relates to nothing", provider: here("dbb", "main"),
			reason: relation.ReasonNoApplication, message: "no Service or workload named dbb in namespace shop; did you mean db?", waits: true,
		},
		"NoRequirer": {
			why: "nor does a requirer", requirer: here("blgo", "store"),
			reason: relation.ReasonNoApplication, message: "no Service or workload named blgo in namespace shop; did you mean blog?", waits: true,
		},
		"NoProviderEndpoint": {
			why: "an endpoint must be declared", provider: here("db", "mian"),
			reason: relation.ReasonNoMatch, message: "db has no endpoint mian: it provides main:pg; did you mean main?",
		},
		"NoRequirerEndpoint": {
			why: "at either end", requirer: here("blog", "stroe"),
			reason: relation.ReasonNoMatch, message: "blog has no endpoint stroe: it requires store:pg; did you mean store?",
		},
		"OtherInterface": {
			why: "M1: the interface that the object names must be that of the endpoints", iface: "redis",
			reason: relation.ReasonNoMatch, message: "the Relation names interface redis, but blog:store requires pg: delete it and create it with interface pg",
		},
		"InterfacesDiffer": {
			why: "M1: of two interfaces it cannot name both", arrange: func(w *world) { w.external("db", "main:redis") },
			reason: relation.ReasonNoMatch, message: "blog:store requires pg, but db:main provides redis",
		},
		"VersionsDiffer": {
			why: "M1: a common version must exist", arrange: func(w *world) { w.external("db", "main:pg@2"); w.consumes("blog", "store:pg@1", "") },
			reason: relation.ReasonNoMatch, message: "blog:store requires pg@1, but db:main provides pg@2",
		},
		"OtherVersion": {
			why: "M1: the version of the object must be the common one", version: 3, arrange: func(w *world) { w.external("db", "main:pg@2") },
			reason: relation.ReasonNoMatch, message: "the Relation names version 3 of pg, but db:main provides pg@2: delete it and create it with interfaceVersion 2",
		},
		"Swapped": {
			why: "M1: one end requires, the other provides", requirer: here("db", "main"), provider: here("blog", "store"),
			reason: relation.ReasonNoMatch, message: "db:main provides pg and blog:store requires pg: swap requirer and provider",
		},
		"BothProvide": {
			why: "M1: two providers do not relate", requirer: here("other", "main"), arrange: func(w *world) { w.external("other", "main:pg") },
			reason: relation.ReasonNoMatch, message: "other:main provides pg, but the requirer of a relation must require",
		},
		"Peers": {
			why: "M4: peer relations are not made by hand", requirer: here("blog", "ring"), provider: here("blog", "ring"),
			arrange: func(w *world) {
				w.deployment("blog", map[string]string{application.KeyPeers: "ring:gossip", application.KeyConsumes: "store:pg"})
			},
			reason: relation.ReasonNoMatch, message: "blog does not relate to itself",
		},
		"Self": {
			why: "M1: an application does not relate to itself", requirer: here("blog", "store"), provider: here("blog", "main"),
			arrange: func(w *world) {
				w.deployment("blog", map[string]string{application.KeyConsumes: "store:pg", application.KeyProvides: "main:pg"})
			},
			reason: relation.ReasonNoMatch, message: "blog does not relate to itself",
		},
		"ServiceOfAnApplication": {
			why: "an end is named by its application", provider: here("front", "main"),
			arrange: func(w *world) {
				delete(w.services, "db")
				w.deployment("db", nil)
				w.service("db", map[string]string{application.KeyProvides: "main:pg"})
				s := w.services["db"]
				s.Name = "front"
				w.services["front"] = s
			},
			reason: relation.ReasonNoApplication, message: "Service front belongs to application db: delete the Relation and create it with application db",
		},
		"LeftOut": {
			why: "A1: an object that is ignored is named with the cure", provider: here("both", "main"),
			arrange: func(w *world) {
				w.deployment("one", nil)
				w.deployment("two", nil)
				for _, name := range []string{"one", "two"} {
					v := w.workloads["Deployment/"+name]
					v.TemplateLabels = map[string]string{"app": "both"}
					w.workloads["Deployment/"+name] = v
				}
				w.service("both", map[string]string{application.KeyProvides: "main:pg"})
			},
			reason: relation.ReasonNoApplication, message: "Service both exists but is ignored: it selects one and two", waits: true,
		},
		"Limit": {
			why: "M3: a limit counts for it", arrange: func(w *world) {
				w.consumes("blog", "store:pg!1", "other")
				w.external("other", "main:pg")
			},
			reason: relation.ReasonLimit, message: "blog:store is limited to 1 relation",
		},
		"Twice": {
			why: "M3: the same pair twice is one relation", arrange: func(w *world) {
				w.apply("first", here("blog", "store"), here("db", "main"), "pg", 0)
			},
			reason: relation.ReasonRelated, message: "Relation first already relates blog:store and db:main: delete this one",
		},
		"NoOffer": {
			why: "M6: the provider's namespace has not consented", provider: relation.End{Namespace: "bank", Application: "vault", Endpoint: "main"},
			reason: relation.ReasonNoOffer, message: "namespace bank offers no application vault to this namespace",
		},
		"OptedOut": {
			why: "a namespace that has not opted in has no applications", arrange: func(w *world) { w.optedIn = false },
			reason: relation.ReasonOptedOut, message: "kubectl label namespace shop tengu-injector=enabled",
		},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			w := bookshop()
			if tc.arrange != nil {
				tc.arrange(w)
			}
			w.settle(t)
			w.now = w.now.Add(time.Minute)
			requirer, provider, iface := tc.requirer, tc.provider, tc.iface
			if requirer == (relation.End{}) {
				requirer = here("blog", "store")
			}
			if provider == (relation.End{}) {
				provider = here("db", "main")
			}
			if iface == "" {
				iface = "pg"
			}
			before := sortedNames(w.records)
			w.apply("by-hand", requirer, provider, iface, tc.version)
			w.settle(t)
			r := w.relations["by-hand"].Relation
			assert.Equal(t, tc.reason, ready(r).Reason, tc.why)
			assert.Contains(t, ready(r).Message, tc.message, tc.why)
			if tc.reason == relation.ReasonComplete {
				assert.NotZero(t, r.State.ID, tc.why)
				return
			}
			stalled, _ := condition.Find(r.State.Conditions, condition.Stalled)
			assert.Equal(t, !tc.waits, stalled.True, tc.why)
			assert.Zero(t, r.State.ID, "without an id no unit sees it, and no gate opens by it")
			assert.Equal(t, before, sortedNames(w.records), "it makes no record of an application")
		})
	}
}

// What is wrong is told where it is waited for, too: the agent shows what its
// application waits for.
func TestManualRelationIsTheReasonToWait(t *testing.T) {
	w := bookshop()
	w.apply("by-hand", here("blog", "store"), here("db", "mian"), "pg", 0)
	w.settle(t)
	require.Len(t, w.records["blog"].State.Waiting, 1)
	assert.Equal(t, "Relation by-hand: db has no endpoint mian: it provides main:pg; did you mean main?", w.records["blog"].State.Waiting[0].Message)
}

// A Relation may be applied before its applications: it goes on when they come.
func TestManualRelationWaitsForItsApplications(t *testing.T) {
	w := newWorld()
	w.apply("by-hand", here("blog", "store"), here("db", "main"), "pg", 0)
	w.settle(t)
	assert.Equal(t, relation.Joining, w.only(t).State.Status)
	w.external("db", "main:pg")
	w.settle(t)
	assert.Equal(t, relation.ReasonNoApplication, ready(w.only(t)).Reason)
	w.consumes("blog", "store:pg", "")
	w.settle(t)
	assert.Equal(t, relation.ReasonNoUnit, ready(w.only(t)).Reason)
	assert.NotZero(t, w.only(t).State.ID)
}

// Of two objects for one pair the second takes over when the first has ended.
func TestManualRelationTakesOver(t *testing.T) {
	w := bookshop()
	w.apply("first", here("blog", "store"), here("db", "main"), "pg", 0)
	w.settle(t)
	w.apply("second", here("blog", "store"), here("db", "main"), "pg", 0)
	w.settle(t)
	require.Zero(t, w.relations["second"].State.ID)
	w.remove("first", w.relations["first"].UID)
	w.settle(t)
	w.later(t, time.Hour)
	assert.NotContains(t, w.relations, "first")
	assert.Equal(t, relation.ReasonComplete, ready(w.relations["second"].Relation).Reason)
}

// A relation that has lived and fits no more is stalled and its gate closed, and
// nothing ends it (SAFETY.md M8).
func TestManualRelationThatFitsNoMore(t *testing.T) {
	w := bookshop()
	w.apply("by-hand", here("blog", "store"), here("db", "main"), "pg", 0)
	w.settle(t)
	id := w.only(t).State.ID
	require.NotZero(t, id)
	w.external("db", "main:redis")
	w.later(t, 1000*time.Hour)
	r := w.only(t)
	assert.Equal(t, id, r.State.ID)
	assert.True(t, r.Alive())
	assert.Equal(t, relation.Failed, r.State.Status)
	assert.Equal(t, relation.ReasonNoMatch, ready(r).Reason)
	assert.Equal(t, "blog:store requires pg, but db:main provides redis", ready(r).Message)
	w.external("db", "main:pg@7")
	w.settle(t)
	assert.Equal(t, relation.ReasonComplete, ready(w.only(t)).Reason, "M8: a newer version concerns new relations only")
}

// One that was never related is gone as soon as it is deleted, whatever handlers the
// applications have.
func TestManualRelationThatDoesNotFitIsDeletedAtOnce(t *testing.T) {
	w := bookshop()
	w.apply("by-hand", here("blog", "store"), here("db", "mian"), "pg", 0)
	w.settle(t)
	w.remove("by-hand", w.relations["by-hand"].UID)
	w.settle(t)
	assert.Empty(t, w.relations)
}

// An annotation's relation is made beside one that does not fit.
func TestManualRelationThatDoesNotFitStandsInNobodysWay(t *testing.T) {
	w := bookshop()
	w.apply("by-hand", here("blog", "store"), here("db", "main"), "redis", 0)
	w.settle(t)
	w.consumes("blog", "store:pg", "db")
	w.settle(t)
	require.Len(t, w.relations, 2)
	assert.Equal(t, relation.ReasonNoMatch, ready(w.relations["by-hand"].Relation).Reason)
	assert.Empty(t, w.records["blog"].State.Waiting)
}

// Whatever is made by hand and whatever happens, a relation that is ready joins
// endpoints that are there and agree.
func TestManualRelationsThatAreReadyFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			history(t, w, 3)
			byHand(t, w)
			w.settle(t)
			apps, _ := application.Gather(w.inventory())
			for _, r := range w.relations {
				if r.Declared || !ready(r.Relation).True {
					continue
				}
				require.True(t, hasEndpoint(apps, r.Requirer, application.Requirer, r.Interface), "%s by %s", r.Requirer, r.Interface)
				require.True(t, hasEndpoint(apps, r.Provider, application.Provider, r.Interface), "%s by %s", r.Provider, r.Interface)
				require.NotEqual(t, r.Requirer.Application, r.Provider.Application)
			}
		}
	})
}

func hasEndpoint(apps []application.Application, e relation.End, role application.Role, iface string) bool {
	for _, a := range apps {
		if declared, there := a.Endpoint(e.Endpoint); a.Name == e.Application && there {
			return declared.Role == role && declared.Interface == iface
		}
	}
	return false
}
