package negotiation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// shopWorld is web, with one pod, related to db.
func shopWorld(t *testing.T) (*world, relation.Relation) {
	t.Helper()
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db", application.KeyRetain, "1h")
	w.pod(application.Deployment, "web", "web-1")
	w.settle(t)
	return w, w.only(t)
}

// What ends a relation, and what does not (SAFETY.md L5, M8, RELATIONS.md L1).
func TestLife(t *testing.T) {
	drop := func(service string) func(require.TestingT, *world) {
		return func(_ require.TestingT, w *world) { delete(w.services, service) }
	}
	tests := map[string]struct {
		why     string
		happens func(t require.TestingT, w *world)
		// held, dying and gone are what becomes of the relation; none of them: it
		// goes on.
		held, dying, gone bool
		reason            string
	}{
		"Nothing": {
			why:     "what is declared and has data is ready",
			happens: func(require.TestingT, *world) {},
			reason:  relation.ReasonComplete,
		},
		"ConsumerUndeclares": {
			why:     "L5: a declaration that vanishes holds the relation, which goes on as it was",
			happens: func(_ require.TestingT, w *world) { w.deployment("web", nil) },
			held:    true, reason: relation.ReasonDeclarationGone,
		},
		"ConsumerNamesNobody": {
			why:     "L5: the same where only the reference is gone",
			happens: func(_ require.TestingT, w *world) { w.consumes("web", "store:pg", "") },
			held:    true, reason: relation.ReasonDeclarationGone,
		},
		"ConsumerDeleted": {
			why:     "L5: nor is a deleted Deployment an end: people recreate objects",
			happens: func(_ require.TestingT, w *world) { delete(w.workloads, "Deployment/web"); delete(w.pods, "web-1") },
			held:    true, reason: relation.ReasonRequirerGone,
		},
		"ProviderDeleted": {
			why:     "L5: the relation waits for its provider and says so",
			happens: drop("db"),
			held:    true, reason: relation.ReasonProviderGone,
		},
		"LabelGone": {
			why:     "L5: the Service is there and provides no more; its bag stays",
			happens: func(_ require.TestingT, w *world) { w.external("db", "http") },
			held:    true, reason: relation.ReasonDeclarationGone,
		},
		"OptedOut": {
			why:     "L5: a namespace label that vanishes is a declaration that vanishes, and the label is the cure",
			happens: func(_ require.TestingT, w *world) { w.optedIn = false },
			held:    true, reason: relation.ReasonOptedOut,
		},
		"ProviderSpeaksAnotherInterface": {
			why:     "M1: the endpoint is there and means something else now",
			happens: func(_ require.TestingT, w *world) { w.external("db", "main:mysql") },
			held:    true, reason: relation.ReasonDeclarationGone,
		},
		"RoleChanged": {
			why: "M1: nor do two requirers relate",
			happens: func(_ require.TestingT, w *world) {
				w.deployment("web", map[string]string{application.KeyProvides: "store:pg"})
			},
			held: true, reason: relation.ReasonDeclarationGone,
		},
		"NewerSchema": {
			why: "M8: a newer version concerns new relations only",
			happens: func(_ require.TestingT, w *world) {
				w.external("db", "main:pg@2")
				w.consumes("web", "store:pg@1", "db")
			},
			reason: relation.ReasonComplete,
		},
		"SecondCandidate": {
			why:     "M8: what became ambiguous stays related as it is",
			happens: func(_ require.TestingT, w *world) { w.external("db", "main:pg,spare:pg") },
			reason:  relation.ReasonComplete,
		},
		"SecondConsumerEndpoint": {
			why: "M8: on the consumer's side too",
			happens: func(_ require.TestingT, w *world) {
				w.consumes("web", "store:pg,another:pg?", "db")
			},
			reason: relation.ReasonComplete,
		},
		"LowerLimit": {
			why: "M8: a lower limit ends nothing",
			happens: func(t require.TestingT, w *world) {
				w.external("db2", "main:pg")
				w.consumes("web", "store:pg", "db,db2")
				w.settle(t)
				w.consumes("web", "store:pg!1", "db,db2")
				w.settle(t)
				assert.Len(t, w.relations, 2)
				w.consumes("web", "store:pg", "db")
				w.settle(t)
				w.later(t, 25*time.Hour)
				w.later(t, relationTeardown)
			},
			reason: relation.ReasonComplete,
		},
		"DeclaredOtherwise": {
			why:     "the same relation, declared by the other side",
			happens: func(_ require.TestingT, w *world) { declareFromProvider(w) },
			reason:  relation.ReasonComplete,
		},
		"Replaced": {
			why: "another pod of the same application is of no concern to the relation",
			happens: func(_ require.TestingT, w *world) {
				delete(w.pods, "web-1")
				w.pod(application.Deployment, "web", "web-2")
			},
			reason: relation.ReasonComplete,
		},
		"DeletedByHand": {
			why: "L1: who deletes the Relation ends it; its units are told first",
			happens: func(t require.TestingT, w *world) {
				w.consumes("web", "store:pg", "")
				r := w.only(t)
				w.remove(r.Name, r.UID)
			},
			dying: true, reason: relation.ReasonEnding,
		},
		"DeletedByHandWithoutUnits": {
			why: "L1: without units it is dead at once",
			happens: func(t require.TestingT, w *world) {
				delete(w.pods, "web-1")
				w.consumes("web", "store:pg", "")
				r := w.only(t)
				w.remove(r.Name, r.UID)
			},
			gone: true,
		},
		"NamespaceEnds": {
			why: "L5: a deleted namespace is an end",
			happens: func(t require.TestingT, w *world) {
				w.ending = true
				r := w.only(t)
				w.remove(r.Name, r.UID)
			},
			gone: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w, was := shopWorld(t)
			test.happens(t, w)
			w.settle(t)
			if test.gone {
				assert.Empty(t, w.relations, test.why)
				return
			}
			is := w.only(t)
			assert.Equal(t, []any{was.UID, was.State.ID, test.held, test.dying, test.reason},
				[]any{is.UID, is.State.ID, is.Held(), !is.Alive(), ready(is).Reason}, test.why)
			assert.Equal(t, "db.example.org", w.bagOfDB("main")["host"], "the bag stays while the relation does")
			held, _ := condition.Find(is.State.Conditions, condition.Held)
			assert.Equal(t, test.held, held.True, "a held relation says so")
		})
	}
}

// relationTeardown is how long a relation stays dying at the most.
const relationTeardown = 10 * time.Second

func declareFromProvider(w *world) {
	w.consumes("web", "store:pg", "", application.KeyRetain, "1h")
	s := w.services["db"]
	s.Annotations = with(s.Annotations, application.KeyRelations, "web")
	w.services["db"] = s
}

// A held relation that nobody declares again: alive → held → dying → dead, each
// at its time, and then its bag goes (SAFETY.md L5, RELATIONS.md L1).
func TestHeldUntilItsTimeIsOver(t *testing.T) {
	w, was := shopWorld(t)
	w.deployment("web", nil)
	wake := w.settle(t)
	assert.Equal(t, w.now.Add(time.Hour), wake, "to look again when the time is over")

	w.later(t, time.Hour-time.Second)
	assert.True(t, w.only(t).Held())
	assert.True(t, w.only(t).Alive())

	w.later(t, time.Second)
	dying := w.only(t)
	assert.Equal(t, relation.ReasonDeclarationGone, dying.State.EndReason)
	assert.Equal(t, w.now, dying.Deleted)
	assert.Equal(t, was.UID, dying.UID)
	assert.Equal(t, w.now.Add(relationTeardown), w.settle(t), "to look again when its units have had their time")

	w.consumes("web", "store:pg", "db")
	w.settle(t)
	assert.Equal(t, was.UID, w.only(t).UID, "L1: never back; the next is made when this one is dead")
	assert.False(t, w.only(t).Alive())
	assert.Contains(t, w.told("web"), "the relation is ending: agents remove its files, until ", "and the consumer is told what it waits for")

	w.later(t, relationTeardown)
	again := w.only(t)
	assert.NotEqual(t, was.UID, again.UID)
	assert.Greater(t, again.State.ID, was.State.ID, "a relation that comes back has a new id")

	w.clear()
	w.later(t, time.Second)
	w.later(t, 25*time.Hour)
	assert.Empty(t, w.relations)
	assert.Empty(t, w.databags, "nobody needs the bag any more")
}

// Without a word on it a relation outlives its declaration by a day; the
// requirer's word counts before the provider's (SAFETY.md L5).
func TestRetain(t *testing.T) {
	tests := map[string]struct {
		why                string
		requirer, provider string
		want               time.Duration
	}{
		"Default":  {"nobody says anything", "", "", 24 * time.Hour},
		"Requirer": {"the requirer says", "90m", "", 90 * time.Minute},
		"Provider": {"the provider says, the requirer does not", "", "2h", 2 * time.Hour},
		"Both":     {"the requirer is asked first", "90m", "2h", 90 * time.Minute},
		"AtOnce":   {"nothing is retained", "0s", "2h", 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.external("db", "main:pg")
			s := w.services["db"]
			if test.provider != "" {
				s.Annotations[application.KeyRetain] = test.provider
			}
			w.consumes("web", "store:pg", "db")
			if test.requirer != "" {
				w.workloads["Deployment/web"].TemplateAnnotations[application.KeyRetain] = test.requirer
			}
			w.settle(t)
			assert.Equal(t, test.want, w.only(t).State.Retain, test.why)
			w.clear()
			w.settle(t)
			w.later(t, max(test.want-time.Second, 0))
			assert.Len(t, w.relations, min(1, int(test.want/time.Second)), "what was retained is remembered with the relation")
			w.later(t, time.Second)
			assert.Empty(t, w.relations)
		})
	}
}

// A relation whose first state was lost in a crash, and whose declaration is
// gone by then, has its time like any other (SAFETY.md L5).
func TestLostStateEndsNothing(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db")
	decisions, _ := w.negotiate(t)
	for _, d := range decisions {
		if relate, ok := d.(relation.Relate); ok {
			w.lastRelation = relate.State.ID
			w.relate(relate.Pair, relate.Identity, true, relate.State.ID)
		}
	}
	w.workloads = map[string]application.Workload{}
	w.later(t, time.Second)
	w.later(t, 23*time.Hour)
	assert.True(t, w.only(t).Alive())
	assert.Equal(t, 24*time.Hour, w.only(t).State.Retain)
}

// A relation that a person made lives until a person deletes it (SAFETY.md L5).
func TestMadeByHand(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "")
	w.pod(application.Deployment, "web", "web-1")
	end := func(application, endpoint string) relation.End {
		return relation.End{Namespace: namespace, Application: application, Endpoint: endpoint}
	}
	w.relate(relation.Pair{Key: relation.Key{Requirer: end("web", "store"), Provider: end("db", "main")}, Interface: "pg"}, w.uid(), false, 0)
	w.settle(t)
	made := w.only(t)
	assert.Equal(t, 1, made.State.ID)
	assert.True(t, ready(made).True)
	assert.Empty(t, w.records["web"].State.Waiting)

	w.consumes("web", "store:pg", "db")
	w.settle(t)
	assert.Equal(t, made.UID, w.only(t).UID, "M3: who declares it too makes no second one")

	w.clear()
	w.settle(t)
	w.later(t, 1000*time.Hour)
	assert.Equal(t, relation.ReasonProviderGone, ready(w.only(t)).Reason)
	assert.True(t, w.only(t).Alive())

	w.remove(made.Name, made.UID)
	w.settle(t)
	assert.Empty(t, w.relations)
}

// A Relation to a provider elsewhere waits for an Offer (RELATIONS.md M6), whatever
// is called alike here.
func TestMadeByHandAcrossNamespaces(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "")
	w.relate(relation.Pair{Key: relation.Key{
		Requirer: relation.End{Namespace: namespace, Application: "web", Endpoint: "store"},
		Provider: relation.End{Namespace: "other", Application: "db", Endpoint: "main"},
	}, Interface: "pg"}, w.uid(), false, 0)
	w.settle(t)
	assert.Equal(t, relation.ReasonNoOffer, ready(w.only(t)).Reason)
	w.consumes("web", "store:pg", "db")
	w.settle(t)
	assert.Equal(t, "web:store-db:main web:store-db:main", w.related(), "the local one is another relation")
}

// An endpoint that is renamed makes a new relation; the old one is held and goes
// on as it was until its time is over (SAFETY.md L5).
func TestEndpointRenamed(t *testing.T) {
	w, was := shopWorld(t)
	w.external("db", "primary:pg")
	w.settle(t)
	assert.ElementsMatch(t, words("web:store-db:main web:store-db:primary"), words(w.related()))
	old := w.between(t, "web:store-db:main")
	assert.Equal(t, was.UID, old.UID)
	assert.True(t, old.Held())
	assert.Equal(t, "db.example.org", w.bagOfDB("main")["host"])
	assert.Equal(t, "db.example.org", w.bagOfDB("primary")["host"])

	w.later(t, time.Hour)
	w.later(t, relationTeardown)
	assert.Equal(t, "web:store-db:primary", w.related())
	assert.Nil(t, w.bagOfDB("main"), "nobody needs the old bag")
}

// A held relation is leaving: it does not stand in the way of the one that was
// declared instead (RELATIONS.md M3).
func TestHeldDoesNotCountAgainstALimit(t *testing.T) {
	w := newWorld()
	w.external("one", "main:pg")
	w.external("two", "main:pg")
	w.consumes("web", "store:pg!1", "one")
	w.settle(t)
	w.consumes("web", "store:pg!1", "two")
	w.settle(t)
	assert.True(t, w.between(t, "web:store-one:main").Held())
	assert.True(t, w.between(t, "web:store-two:main").Alive())
	w.consumes("web", "store:pg!1", "one")
	w.settle(t)
	assert.True(t, w.between(t, "web:store-two:main").Held())
	assert.False(t, w.between(t, "web:store-one:main").Held(), "declared again, it goes on")
}

// What changes of a provider is written once, however many consume it, and
// their relations and records not at all (SAFETY.md D12); what is written on it
// lies over what is derived (V5).
func TestOneChangeIsOneWrite(t *testing.T) {
	tests := map[string]struct {
		why    string
		change func(w *world)
		want   map[string]string
	}{
		"ExternalName": {
			why: "the host is another",
			change: func(w *world) {
				s := w.services["db"]
				s.ExternalName = "db2.example.org"
				w.services["db"] = s
			},
			want: map[string]string{"host": "db2.example.org", "port": "5432", "ports": "tcp=5432", "url": "tcp://db2.example.org:5432"},
		},
		"Ports": {
			why:    "the port is another",
			change: func(w *world) { w.port("db", 6432) },
			want:   map[string]string{"host": "db.example.org", "port": "6432", "ports": "tcp=6432", "url": "tcp://db.example.org:6432"},
		},
		"Data": {
			why: "SAFETY.md V5: what is written lies over what is derived, and an empty value deletes",
			change: func(w *world) {
				s := w.services["db"]
				s.Annotations = with(s.Annotations, application.PrefixData+"main", "database: orders\nhost: pgbouncer\nurl: ''\nports: ''")
				w.services["db"] = s
			},
			want: map[string]string{"host": "pgbouncer", "port": "5432", "database": "orders"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := crowd(50)
			w.settle(t)
			test.change(w)
			decisions, _ := w.negotiate(t)
			require.Len(t, decisions, 1, test.why)
			publish, ok := decisions[0].(relation.Publish)
			require.True(t, ok)
			assert.Equal(t, relation.Databag{Application: "db", Endpoint: "main", Data: test.want}, publish.Databag, test.why)
			w.run(decisions, all)
			w.settle(t)
		})
	}
}

// An id is a name that is never given twice, also when all that had one is gone
// (SAFETY.md D10).
func TestIDsAreNeverGivenTwice(t *testing.T) {
	w := newWorld()
	var given []int
	for range 4 {
		w.external("db", "main:pg")
		w.consumes("web", "store:pg", "db", application.KeyRetain, "1s")
		w.settle(t)
		given = append(given, w.only(t).State.ID)
		w.clear()
		w.settle(t)
		w.later(t, time.Minute)
		require.Empty(t, w.relations)
		assert.Empty(t, w.records, "no record is kept for its id")
	}
	assert.Equal(t, []int{1, 2, 3, 4}, given)

	w.external("queue", "amqp")
	w.consumes("worker", "amqp", "queue")
	w.settle(t)
	assert.Equal(t, 5, w.only(t).State.ID)
}

// Relations that were restored without the count of the namespace are counted again (TRUST.md T5).
func TestCountFollowsRelations(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db")
	w.settle(t)
	w.lastRelation = 0
	w.external("queue", "amqp")
	w.consumes("worker", "amqp", "queue")
	w.settle(t)
	assert.Equal(t, 2, w.between(t, "worker:amqp-queue:amqp").State.ID)
	assert.Equal(t, 2, w.lastRelation)
}

// A relation is not let go before its id is counted, should that write have failed until then.
func TestIDIsCountedBeforeTheRelationGoes(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db")
	w.settle(t)
	r := w.only(t)
	w.lastRelation = 0
	w.remove(r.Name, r.UID)
	decisions, _ := w.negotiate(t)
	assert.False(t, slices.ContainsFunc(decisions, func(d relation.Decision) bool { _, is := d.(relation.Release); return is }))
	w.settle(t)
	assert.Equal(t, 2, w.only(t).State.ID)
}

// What a requirer sees, by relation id (SAFETY.md V5).
func TestLook(t *testing.T) {
	w, was := shopWorld(t)
	w.external("db2", "main:pg")
	w.consumes("web", "store:pg,http", "db,db2")
	w.settle(t)
	s := w.observe()
	slices.Reverse(s.Relations)
	s.Relations = append(s.Relations, relation.Relation{UID: "without an id"})
	bags := map[string]map[string]string{"db": {"host": "x"}}
	shelf := relation.Shelf{
		Bag:    func(_ relation.Relation, e relation.End) map[string]string { return bags[e.Application] },
		Units:  func(relation.End) []application.Unit { return nil },
		Grants: func(relation.End) []relation.Grant { return nil },
	}
	v := relation.Look(namespace, w.records["web"], s.Relations, s.Sides, shelf)
	require.Len(t, v.Relations, 2)
	assert.Equal(t, was.UID, v.Relations[0].UID, "the oldest first; what has no id yet is not seen")
	assert.True(t, v.Relations[0].Shown.Complete)
	assert.Equal(t, bags["db"], v.Bags.Bag(v.Relations[0].Shown.RemoteBag))
	assert.False(t, v.Relations[1].Shown.Complete, "V5: what is not known here is not complete")
	require.Len(t, v.Waiting, 1)
	assert.Equal(t, "http", v.Waiting[0].Endpoint)
	assert.Len(t, v.Units, 1)
}
