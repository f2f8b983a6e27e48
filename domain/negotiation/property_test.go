package negotiation_test

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// TestMain asks for more histories than rapid draws by itself, unless it was
// told how many.
func TestMain(m *testing.M) {
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "rapid.checks" })
	if !told {
		if err := flag.Set("rapid.checks", "1000"); err != nil {
			panic(err)
		}
	}
	m.Run()
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Whatever happened, a few looks settle the world, and then nothing is written
// until something happens or the time comes that was named.
func TestNegotiateSettles(t *testing.T) {
	known := library(t)
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.judgedBy(t, known)
		history(t, w, 25)
		for range 6 {
			wake := w.settle(t)
			if wake.IsZero() {
				return
			}
			w.now = wake
		}
	})
}

// judgedBy has the world know interfaces, or none, and take them as it likes.
func (w *world) judgedBy(t *rapid.T, known schema.Catalog) {
	if rapid.Bool().Draw(t, "interfaces") {
		w.interfaces = known
		w.schema = rapid.SampledFrom([]schema.Mode{schema.Warn, schema.Enforce, schema.Off}).Draw(t, "mode")
	}
}

// Equal worlds give equal decisions, in whatever order their objects are listed;
// and what was observed is left as it was.
func TestNegotiateIsDeterministicAndOrderFree(t *testing.T) {
	known := library(t)
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.judgedBy(t, known)
		history(t, w, 12)
		happen(t, w)
		s := w.observe()
		want, wake := negotiation.Negotiate(s)
		assert.Equal(t, w.observe(), s, "deciding changes nothing")

		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		in := w.inventory()
		shuffle(random, in.Services, in.Workloads, in.Pods)
		if w.optedIn {
			again, orphans := application.Gather(in)
			require.Equal(t, s.Applications, again)
			require.ElementsMatch(t, s.Orphans, orphans)
		}
		shuffleOne(random, s.Applications)
		shuffleOne(random, s.Orphans)
		shuffleOne(random, s.Relations)
		shuffleOne(random, s.Records)
		shuffleOne(random, s.Databags)
		got, again := negotiation.Negotiate(s)
		assert.Equal(t, want, got)
		assert.Equal(t, wake, again)
	})
}

func shuffle(random *rand.Rand, services []application.Service, workloads []application.Workload, pods []application.Pod) {
	shuffleOne(random, services)
	shuffleOne(random, workloads)
	shuffleOne(random, pods)
}

func shuffleOne[T any](random *rand.Rand, all []T) {
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
}

// A controller that is killed between any two writes, and started again, comes
// to the same objects as one that was not.
func TestNegotiateSurvivesCrashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		history(t, w, 12)
		happen(t, w)
		happen(t, w)
		crashed := w.clone()
		w.settle(t)
		w.finishRollouts()
		w.settle(t)
		for range rapid.IntRange(1, 3).Draw(t, "crashes") {
			decisions, _ := crashed.negotiate(t)
			crashed.run(decisions, rapid.IntRange(0, 12).Draw(t, "writes"))
			crashed.check(t)
		}
		crashed.settle(t)
		crashed.finishRollouts()
		crashed.settle(t)
		assert.Equal(t, w.final(), crashed.final())
		assert.Equal(t, w.rollouts, crashed.rollouts, "a crash costs no second rollout")
	})
}

// final returns the objects, but for the names that chance gave: UIDs are those
// of relations' names, and an id is as good as another.
func (w *world) final() any {
	names := map[string]string{}
	relations := map[string]relation.Relation{}
	for _, r := range w.relations {
		names[r.UID] = r.Name
		r.UID, r.Object, r.State.ID = "", "", 0
		relations[r.Name] = r.Relation
	}
	records := map[string]relation.ApplicationState{}
	for _, r := range w.records {
		versions := map[string]string{}
		for uid, v := range r.State.Restarts.Versions {
			versions[names[uid]] = v
		}
		r.State.Restarts = relation.Restarts{Versions: versions}
		records[r.Name] = r.State
	}
	return []any{relations, records, w.databags}
}

// Where single decisions fail the rest goes on, and the next looks make it good.
func TestNegotiateSurvivesFailures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for range rapid.IntRange(1, 12).Draw(t, "length") {
			happen(t, w)
			decisions, _ := w.negotiate(t)
			for _, d := range decisions {
				if rapid.IntRange(0, 3).Draw(t, "fails") > 0 {
					w.run([]relation.Decision{d}, all)
				}
			}
			w.check(t)
		}
		w.settle(t)
	})
}

// A declaration that vanishes and returns in time ends nothing: the relation is
// the same, by UID and id (SAFETY.md L5).
func TestDeclarationsThatReturnEndNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		history(t, w, 12)
		w.settle(t)
		before, shortest := map[string]relation.Relation{}, 24*time.Hour
		for _, r := range w.relations {
			if r.Alive() && !r.Held() && r.Declared {
				before[r.Name] = r.Relation
				shortest = min(shortest, r.State.Retain)
			}
		}
		if shortest < time.Second {
			return
		}
		services, workloads := maps.Clone(w.services), maps.Clone(w.workloads)
		vanish(t, w)
		for range rapid.IntRange(1, 3).Draw(t, "looks") {
			w.settle(t)
		}
		w.now = w.now.Add(shortest - time.Second)
		w.settle(t)
		w.services, w.workloads, w.optedIn = services, workloads, true
		w.settle(t)
		for name, r := range before {
			after := w.relations[name]
			assert.Equal(t, r.UID, after.UID)
			assert.Equal(t, r.State.ID, after.State.ID)
			assert.True(t, after.Alive() && (!after.Held() || after.State.HeldReason == relation.ReasonLimit),
				"only a limit that was lowered meanwhile holds it (RELATIONS.md M3)")
		}
	})
}

// vanish takes declarations away: some keys, some objects or the opt-in.
func vanish(t *rapid.T, w *world) {
	for range rapid.IntRange(1, 3).Draw(t, "vanishing") {
		switch rapid.IntRange(0, 4).Draw(t, "what") {
		case 0:
			drop(t, w.services)
		case 1:
			drop(t, w.workloads)
		case 2:
			w.optedIn = false
		case 3:
			for _, name := range sortedNames(w.services) {
				s := w.services[name]
				s.Annotations = nil
				w.services[name] = s
			}
		case 4:
			for _, name := range sortedNames(w.workloads) {
				v := w.workloads[name]
				v.TemplateAnnotations = nil
				w.workloads[name] = v
			}
		}
	}
}

// A namespace that ends lets go of every relation and writes nothing else but the ends that
// units of other namespaces still have to handle: the API refuses new objects in it (SAFETY.md
// L5, RELATIONS.md L4).
func TestEndingNamespaceOnlyReleases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		history(t, w, 12)
		w.ending = true
		for _, name := range sortedNames(w.relations) {
			w.remove(name, w.relations[name].UID)
		}
		decisions, wake := w.negotiate(t)
		for _, d := range decisions {
			if end, is := d.(relation.Update); is {
				before := w.relations[end.Name].Relation
				before.State.EndReason, before.State.EndedSince = relation.EndNamespaceDeleted, w.now
				assert.Equal(t, before, end.Relation)
			} else {
				assert.IsType(t, relation.Release{}, d)
			}
		}
		w.run(decisions, all)
		for _, r := range w.relations {
			assert.True(t, r.Abroad() && r.State.Offer != "", "who else would have to hear: %s", r.Name)
		}
		assert.True(t, wake.IsZero(), "they wake us")
		w.abroad = nil
		for _, r := range w.relations {
			w.abroad = append(w.abroad, relation.Abroad{Namespace: r.Provider.Namespace, Ending: true})
		}
		decisions, _ = w.negotiate(t)
		w.run(decisions, all)
		assert.Empty(t, w.relations)
	})
}

// A second candidate changes nothing of what is related (SAFETY.md M8).
func TestNewApplicationsEndNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		history(t, w, 12)
		w.settle(t)
		before := maps.Clone(w.relations)
		s := application.Service{ExternalName: "three.example.org"}
		s.Object = w.object(application.Object{}, "newcomer")
		s.Annotations = map[string]string{application.KeyProvides: "sse,main:db,spare:db@2"}
		w.services[s.Name] = s
		w.settle(t)
		for name, r := range before {
			_, held := condition.Find(r.State.Conditions, condition.Held)
			_, heldNow := condition.Find(w.relations[name].State.Conditions, condition.Held)
			assert.Equal(t, held, heldNow)
			assert.Equal(t, r.State.ID, w.relations[name].State.ID)
		}
	})
}
