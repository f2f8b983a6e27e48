package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// RELATIONS.md M1, M2, M3: who relates, and what is told where nobody does.
func TestMatching(t *testing.T) {
	tests := map[string]struct {
		why       string
		provides  string
		consumes  string
		relations string
		want      string
		version   int
		message   string
	}{
		"Short": {
			why:      "the prototype's form: endpoint and interface have one name",
			provides: "main", consumes: "main", relations: "db", want: "web:main-db:main",
		},
		"Interface": {
			why:      "M1: names of endpoints differ, the interface is one",
			provides: "main:pg", consumes: "store:pg", relations: "db", want: "web:store-db:main",
		},
		"OtherInterface": {
			why:      "M1: interfaces differ, so nothing is related, and both sides' endpoints are told",
			provides: "main:mysql", consumes: "store:pg@2", relations: "db",
			message: "no endpoint of web (requires store:pg@2) matches one of db (provides main:mysql): interface, version and role must agree",
		},
		"NoEndpoint": {
			why:      "an application without endpoints is asked for one",
			provides: "", consumes: "store:pg", relations: "db",
			message: "db declares no endpoint, so web cannot relate to it: add tengu.io/consumes or tengu.io/provides to db",
		},
		"SameVersion": {
			why:      "M1: a version that both name is common",
			provides: "main:pg@2", consumes: "store:pg@2", relations: "db", want: "web:store-db:main", version: 2,
		},
		"OneVersion": {
			why:      "M1: a side that names none takes any",
			provides: "main:pg@3", consumes: "store:pg", relations: "db", want: "web:store-db:main", version: 3,
		},
		"RequirerVersion": {
			why:      "M1: and so does the other",
			provides: "main:pg", consumes: "store:pg@3", relations: "db", want: "web:store-db:main", version: 3,
		},
		"OtherVersion": {
			why:      "M1: no common version, no relation",
			provides: "main:pg@1", consumes: "store:pg@2", relations: "db",
			message: "no endpoint of web (requires store:pg@2) matches one of db (provides main:pg@1): interface, version and role must agree",
		},
		"SeveralProvided": {
			why:      "M2: two that fit are no choice of ours; both are told as they can be written",
			provides: "main:pg,spare:pg", consumes: "store:pg", relations: "db",
			message: `"db" is ambiguous: write one of store=db:main, store=db:spare in tengu.io/relations`,
		},
		"SeveralConsumed": {
			why:      "M2: the same where the consumer has two",
			provides: "main:pg", consumes: "store:pg,other:pg", relations: "db",
			message: `"db" is ambiguous: write one of other=db:main, store=db:main in tengu.io/relations`,
		},
		"OneFitsBest": {
			why:      "M2: versions and interfaces may leave one",
			provides: "main:pg@1,spare:pg@2,http", consumes: "store:pg@2", relations: "db", want: "web:store-db:spare", version: 2,
		},
		"NamedRemote": {
			why:      "M2: a named endpoint is no guess",
			provides: "main:pg,spare:pg", consumes: "store:pg", relations: "db:spare", want: "web:store-db:spare",
		},
		"NamedLocal": {
			why:      "M2: nor is a local one",
			provides: "main:pg", consumes: "store:pg,other:pg", relations: "other=db", want: "web:other-db:main",
		},
		"NamedBoth": {
			why:      "M2: two entries make two relations to one provider",
			provides: "main:pg", consumes: "store:pg,other:pg", relations: "other=db:main,store=db:main",
			want: "web:other-db:main web:store-db:main",
		},
		"SamePairTwice": {
			why:      "M3: the same pair twice is one relation",
			provides: "main:pg", consumes: "store:pg", relations: "db,store=db,db:main,db.shop", want: "web:store-db:main",
		},
		"OwnApplication": {
			why:      "M1: an application does not relate to itself",
			provides: "main:pg", consumes: "store:pg", relations: "web",
			message: "web names its own application: name another one",
		},
		"WrongRemote": {
			why:      "M2: what agrees is not said to disagree",
			provides: "main:pg", consumes: "store:pg", relations: "db:mian",
			message: "db has no endpoint mian: it provides main:pg",
		},
		"Another": {
			why:      "I27: what is only alike is not meant",
			provides: "main:pg", consumes: "store:pg", relations: "eb",
			message: "no Service or workload named eb in namespace shop\n",
		},
		"Misspelt": {
			why:      "I27: it may come; or the nearest is meant",
			provides: "main:pg", consumes: "store:pg", relations: "dbb",
			message: "no Service or workload named dbb in namespace shop; did you mean db?",
		},
		"MisspeltInterface": {
			why:      "M1: the interface that is near is meant",
			provides: "main:postgresql", consumes: "store:postgresq", relations: "db",
			message: "and role must agree; is interface postgresq of store meant to be postgresql?",
		},
		"NothingThere": {
			why:      "I27: a provider may come later",
			provides: "main:pg", consumes: "store:pg", relations: "soon",
			message: "no Service or workload named soon in namespace shop",
		},
		"OtherNamespace": {
			why:      "M6, M7: without an Offer the answer is the same whether the application exists or not",
			provides: "main:pg", consumes: "store:pg", relations: "db.elsewhere",
			message: "namespace elsewhere offers no application db to this namespace",
		},
		"Limit": {
			why:      "M3: the second relation is one too many, and says of which endpoint",
			provides: "main:pg,spare:pg", consumes: "store:pg!1", relations: "db:main,db:spare", want: "web:store-db:main",
			message: "web:store has no relation with db:spare: web:store is limited to 1 relation and has db:main: raise the limit or end that relation",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.external("db", test.provides)
			w.consumes("web", test.consumes, test.relations)
			w.settle(t)
			for _, r := range w.relations {
				assert.Equal(t, test.version, r.Version, test.why)
			}
			assert.ElementsMatch(t, words(test.want), words(w.related()), test.why)
			if test.message != "" {
				assert.Contains(t, w.told("web"), test.message, test.why)
			}
		})
	}
}

// A second reference that leads nowhere is reported although no endpoint waits for it.
func TestAReferenceTooMany(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db,cachee")
	w.settle(t)
	ready, _ := condition.Find(w.records["web"].State.Conditions, condition.Ready)
	assert.True(t, ready.True)
	assert.Equal(t, relation.ReasonNoApplication, ready.Reason)
	assert.Contains(t, ready.Message, "every required relation is complete, but no Service or workload named cachee")

	w = newWorld()
	w.consumes("web", "store:pg?", "bd")
	w.settle(t)
	ready, _ = condition.Find(w.records["web"].State.Conditions, condition.Ready)
	assert.Contains(t, ready.Message, "but no Service or workload named bd", "an optional endpoint waits for nobody")
}

// A provider may name its consumers too, and then reads what it can write.
func TestMatchingFromTheProvider(t *testing.T) {
	tests := map[string]struct {
		why       string
		relations string
		want      string
		message   string
	}{
		"One": {
			why:       "either side may declare the relation",
			relations: "web:store", want: "web:store-db:main",
		},
		"Several": {
			why:       "the candidates begin with the provider's own endpoint, as its annotation must",
			relations: "web", message: `write one of main=web:other, main=web:store in tengu.io/relations`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.deployment("db", map[string]string{application.KeyProvides: "main:pg", application.KeyRelations: test.relations, "data.tengu.io/main": "host: db"})
			w.consumes("web", "store:pg,other:pg", "")
			w.settle(t)
			assert.Equal(t, test.want, w.related(), test.why)
			assert.Contains(t, w.told("db"), test.message, test.why)
			assert.Equal(t, test.message != "", w.says("db", condition.Stalled).True, test.why)
		})
	}
}

// A limit counts at the provider's end too (RELATIONS.md M3). No annotation sets
// one there yet.
func TestLimitOfTheProvider(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("one", "store:pg", "db")
	w.consumes("two", "store:pg", "db")
	s := w.observe()
	for i := range s.Applications {
		for j, e := range s.Applications[i].Endpoints {
			if e.Role == application.Provider {
				s.Applications[i].Endpoints[j].Limit = 1
			}
		}
	}
	decisions, _ := negotiation.Negotiate(s)
	var related, waiting []string
	for _, decision := range decisions {
		if d, ok := decision.(relation.Relate); ok {
			related = append(related, d.Requirer.Application)
		}
		if d, ok := decision.(relation.Remember); ok {
			for _, e := range d.State.Waiting {
				waiting = append(waiting, d.Name+": "+e.Message)
			}
		}
	}
	assert.Equal(t, []string{"one"}, related)
	assert.Equal(t, []string{"two: two:store has no relation with db:main: db:main is limited to 1 relation and has one:store: raise the limit or end that relation"}, waiting)
}

// An application that offers what it needs does not relate to itself
// (RELATIONS.md M1).
func TestMatchingItself(t *testing.T) {
	w := newWorld()
	w.consumes("web", "upstream:http", "web")
	w.service("web", map[string]string{application.KeyProvides: "site:http"})
	w.settle(t)
	assert.Empty(t, w.relations)
	assert.Contains(t, w.told("web"), "names its own application")
}

// An alias leads to the application that the Service joined, and both names to
// one relation (SAFETY.md A1).
func TestMatchingByAlias(t *testing.T) {
	w := newWorld()
	w.deployment("postgres", nil)
	w.service("postgres", map[string]string{application.KeyProvides: "main:pg"})
	alias := w.services["postgres"]
	alias.Name, alias.UID, alias.Annotations = "db", w.uid(), nil
	w.services["db"] = alias
	w.consumes("web", "store:pg", "db,postgres")
	w.settle(t)
	assert.Equal(t, "web:store-postgres:main", w.related())
}

// Who is asked for and takes no part says why (SAFETY.md A1).
func TestMatchingNamesTheOrphan(t *testing.T) {
	w := newWorld()
	w.deployment("one", nil)
	w.deployment("two", nil)
	s := application.Service{Selector: map[string]string{"tier": "back"}}
	s.Object = w.object(s.Object, "db")
	s.Annotations = map[string]string{application.KeyProvides: "main:pg"}
	w.services["db"] = s
	w.consumes("web", "store:pg", "db")
	w.settle(t)
	assert.Contains(t, w.told("web"), "Service db exists but is ignored: its selector matches no workload or pod")
}

// What declares something and takes no part is told on the record of the name it
// would have, also where nobody refers to it; the holder of a name that another
// claims is not the worse for it (SAFETY.md A1, D10).
func TestLeftOut(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.settle(t)
	w.now = w.now.Add(time.Second)
	w.workload(application.StatefulSet, "db", map[string]string{application.KeyProvides: "main:pg"})
	w.deployment("web.v2", map[string]string{application.KeyConsumes: "store:pg"})
	w.pod(application.Deployment, "web.v2", "web.v2-1")
	s := application.Service{Selector: map[string]string{"app": "nobody"}}
	s.Object = w.object(s.Object, "front")
	s.Annotations = map[string]string{application.KeyProvides: "main:pg"}
	w.services["front"] = s
	w.settle(t)
	assert.NotContains(t, w.records, "front", "its workload often comes a moment later, in the same apply")
	w.later(t, 10*time.Second)

	assert.True(t, w.says("db", condition.Ready).True, "it works as before")
	assert.Equal(t, application.ReasonNameTaken, w.says("db", condition.LeftOut).Reason)
	assert.Equal(t, "StatefulSet/db", w.records["db"].State.LeftOut[0].Object)
	assert.True(t, w.says("web.v2", condition.Stalled).True, "a person must act")
	assert.Equal(t, []string{"web.v2-1"}, w.records["web.v2"].State.LeftOut[0].Pods, "its pods have an agent that waits")
	assert.Contains(t, w.says("web.v2", condition.Ready).Message, "the name of an application must not contain a dot; set tengu.io/application on its pod template")
	assert.True(t, w.says("front", condition.Reconciling).True, "its pods may come")

	delete(w.workloads, "StatefulSet/db")
	w.deployment("web.v2", map[string]string{application.KeyConsumes: "store:pg", application.KeyApplication: "web"})
	w.settle(t)
	assert.Empty(t, w.says("db", condition.LeftOut).Reason)
	assert.NotContains(t, w.records, "web.v2")
	assert.Contains(t, w.records, "web")
}

// Peer relations exist while the application does; nobody makes or removes them
// by hand (RELATIONS.md M4).
func TestPeers(t *testing.T) {
	w := newWorld()
	w.deployment("ring", map[string]string{application.KeyPeers: "members:gossip"})
	w.settle(t)
	made := w.only(t)
	assert.True(t, made.Peer())
	assert.Equal(t, "ring:members", made.Requirer.String())
	assert.Equal(t, "gossip", made.Interface)
	assert.True(t, ready(made).True, "it waits for nobody")
	assert.True(t, w.says("ring", condition.Ready).True)

	w.remove(made.Name, made.UID)
	w.later(t, time.Minute)
	again := w.only(t)
	assert.NotEqual(t, made.UID, again.UID, "removed by hand, it comes again")
	assert.Greater(t, again.State.ID, made.State.ID, "as another relation")

	w.deployment("ring", map[string]string{application.KeyPeers: "members:other"})
	w.settle(t)
	assert.True(t, w.only(t).Held(), "M8: an interface that is no longer declared ends nothing by itself")
	w.deployment("ring", map[string]string{application.KeyPeers: "members:gossip"})
	w.settle(t)
	assert.Equal(t, again.UID, w.only(t).UID)
	assert.False(t, w.only(t).Held())
	w.clear()
	w.later(t, time.Minute)
	assert.True(t, w.only(t).Held(), "SAFETY.md L5: that its workload is gone is no end")
	w.later(t, 25*time.Hour)
	w.later(t, time.Minute)
	assert.Empty(t, w.relations)
}

// The highest common version wins, in whatever order the two sides are asked
// (RELATIONS.md M1).
func TestMatchingVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		version := func(label string) (string, int) {
			n := rapid.IntRange(0, 4).Draw(t, label)
			return []string{"", "@1", "@2", "@3", "@4"}[n], n
		}
		provided, p := version("provided")
		required, r := version("required")
		w := newWorld()
		w.external("db", "main:pg"+provided)
		w.consumes("web", "store:pg"+required, "db")
		w.settle(t)
		if p != 0 && r != 0 && p != r {
			assert.Empty(t, w.relations)
			return
		}
		assert.Equal(t, max(p, r), w.only(t).Version)
	})
}
