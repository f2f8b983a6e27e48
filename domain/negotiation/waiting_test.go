package negotiation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// When an endpoint is complete, and why it is not (SAFETY.md V5, I22, I27).
func TestWaiting(t *testing.T) {
	wait := func(endpoint, reason, message string) []relation.Waiting {
		return []relation.Waiting{{Endpoint: endpoint, Reason: reason, Message: message}}
	}
	tests := map[string]struct {
		why   string
		world func(w *world)
		want  []relation.Waiting
		// ready is the reason of web's condition Ready.
		ready string
	}{
		"Complete": {
			why: "V5: both applications are there and the bag is not empty; the provider's pods are not awaited",
			world: func(w *world) {
				w.external("db", "main:pg")
				w.consumes("web", "store:pg", "db")
			},
			ready: relation.ReasonComplete,
		},
		"NamesNobody": {
			why: "I22: consumer keys without relations relate to nobody; the annotation to add is told word by word",
			world: func(w *world) {
				w.external("db", "main:pg")
				w.external("db2", "main:pg,other:http")
				w.consumes("web", "store:pg", "")
			},
			want:  wait("store", relation.ReasonNoRelation, "no provider is named for endpoint store: add one of store=db:main, store=db2:main to tengu.io/relations"),
			ready: relation.ReasonWaiting,
		},
		"NamesNobodyWithOneCandidate": {
			why: "I22: one candidate is no reason to guess",
			world: func(w *world) {
				w.external("db", "main:pg")
				w.consumes("web", "store:pg", "")
			},
			want:  wait("store", relation.ReasonNoRelation, "no provider is named for endpoint store: add store=db:main to tengu.io/relations"),
			ready: relation.ReasonWaiting,
		},
		"NobodyProvides": {
			why:   "I22: there is nothing to add yet",
			world: func(w *world) { w.consumes("web", "store:pg", "") },
			want:  wait("store", relation.ReasonNoRelation, "no provider is named for endpoint store, and no application here provides pg"),
			ready: relation.ReasonWaiting,
		},
		"NotThereYet": {
			why:   "I27: named, and not there yet",
			world: func(w *world) { w.consumes("web", "store:pg", "db") },
			want:  wait("store", relation.ReasonNoApplication, "no Service or workload named db in namespace shop"),
			ready: relation.ReasonWaiting,
		},
		"NoData": {
			why: "V5: both are there and nothing is said",
			world: func(w *world) {
				w.deployment("db", map[string]string{application.KeyProvides: "main:pg"})
				w.consumes("web", "store:pg", "db")
			},
			want:  wait("store", relation.ReasonNoData, "db:main has not provided data yet; annotate db with data.tengu.io/main, or call relation-set in its pods"),
			ready: relation.ReasonWaiting,
		},
		"NoDataNoPod": {
			why: "V5: handlers would write, and no pod runs them",
			world: func(w *world) {
				w.deployment("db", map[string]string{application.KeyProvides: "main:pg", application.KeyHandlers: "/handlers"})
				w.consumes("web", "store:pg", "db")
			},
			want:  wait("store", relation.ReasonNoData, "db:main has not provided data yet; db has no pod with handlers: start one"),
			ready: relation.ReasonWaiting,
		},
		"Ambiguous": {
			why: "D10: a person must choose, and reads so on the application",
			world: func(w *world) {
				w.external("db", "main:pg,spare:pg")
				w.consumes("web", "store:pg", "db")
			},
			want:  wait("store", relation.ReasonAmbiguous, `"db" is ambiguous: write one of store=db:main, store=db:spare in tengu.io/relations`),
			ready: relation.ReasonAmbiguous,
		},
		"Optional": {
			why: "an optional endpoint is told, and holds nothing up",
			world: func(w *world) {
				w.consumes("web", "store:pg?", "")
			},
			want:  []relation.Waiting{{Endpoint: "store", Optional: true, Reason: relation.ReasonNoRelation, Message: "no provider is named for endpoint store, and no application here provides pg"}},
			ready: relation.ReasonComplete,
		},
		"OneOfTwo": {
			why: "each endpoint has its own reason, in order of declaration",
			world: func(w *world) {
				w.external("db", "main:pg")
				w.consumes("web", "queue:amqp,store:pg", "store=db,queue=mq")
			},
			want:  wait("queue", relation.ReasonNoApplication, "no Service or workload named mq in namespace shop"),
			ready: relation.ReasonWaiting,
		},
		"OneOfTwoRelations": {
			why: "one complete relation is enough for an endpoint",
			world: func(w *world) {
				w.external("db", "main:pg")
				w.deployment("db2", map[string]string{application.KeyProvides: "main:pg"})
				w.consumes("web", "store:pg", "db2,db")
			},
			ready: relation.ReasonComplete,
		},
		"Faulty": {
			why: "D10: a declaration that says nothing right has a place to be told",
			world: func(w *world) {
				w.consumes("web", "Not A Name", "")
			},
			ready: application.ReasonInvalid,
		},
		"SeveralForUnnamed": {
			why: "what an unnamed reference meets may be about any open endpoint",
			world: func(w *world) {
				w.consumes("web", "store:pg", "one,two")
			},
			want:  wait("store", relation.ReasonNoApplication, "no Service or workload named one in namespace shop; no Service or workload named two in namespace shop"),
			ready: relation.ReasonWaiting,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			test.world(w)
			w.settle(t)
			assert.Equal(t, test.want, w.records["web"].State.Waiting, test.why)
			assert.Equal(t, test.ready, w.says("web", condition.Ready).Reason, test.why)
			for _, waiting := range test.want {
				assert.Equal(t, !waiting.Optional, strings.Contains(w.says("web", condition.Ready).Message, waiting.Message), test.why)
			}
		})
	}
}

// A message names some of ten thousand candidates, not all.
func TestManyCandidates(t *testing.T) {
	w := newWorld()
	for i := range 100 {
		w.external(fmt.Sprintf("db%02d", i), "main:pg")
	}
	w.consumes("web", "store:pg", "")
	w.settle(t)
	assert.Contains(t, w.told("web"), "store=db00:main, store=db01:main")
	assert.Contains(t, w.told("web"), "store=db19:main and 80 more")
}

// What is wrong and what is awaited may be very much; the API refuses more than
// 32 KiB of it.
func TestLongMessages(t *testing.T) {
	w := newWorld()
	var consumes []string
	for i := range 2000 {
		consumes = append(consumes, fmt.Sprintf("store%d:é%d", i, i), fmt.Sprintf("store%d:pg", i))
	}
	w.consumes("web", strings.Join(consumes, ","), "")
	w.settle(t)
	assert.True(t, w.says("web", condition.Stalled).True)
}

func TestGateCycle(t *testing.T) {
	// each app consumes the next ones and gives no data.
	ring := func(w *world, name string, more []string, next ...string) {
		var consumes, relations []string
		for _, n := range next {
			other := strings.TrimSuffix(n, "?")
			consumes = append(consumes, strings.Replace(n, other, "to-"+other+":ring", 1))
			relations = append(relations, "to-"+other+"="+other)
		}
		w.consumes(name, strings.Join(consumes, ","), strings.Join(relations, ","), append(more, application.KeyProvides, "from:ring")...)
	}
	tests := map[string]struct {
		why   string
		world func(w *world)
		// want are the members, by application.
		want map[string]string
	}{
		"Two": {
			why:   "I17: each waits for the other",
			world: func(w *world) { ring(w, "a", nil, "b"); ring(w, "b", nil, "a") },
			want:  map[string]string{"a": "a, b", "b": "a, b"},
		},
		"Three": {
			why: "I17: every member names them all; who only waits for them is none",
			world: func(w *world) {
				ring(w, "a", nil, "b")
				ring(w, "b", nil, "c")
				ring(w, "c", nil, "a")
				ring(w, "d", nil, "a")
			},
			want: map[string]string{"a": "a, b, c", "b": "a, b, c", "c": "a, b, c"},
		},
		"TwoRings": {
			why: "two cycles are two",
			world: func(w *world) {
				ring(w, "a", nil, "b")
				ring(w, "b", nil, "a", "c")
				ring(w, "c", nil, "d")
				ring(w, "d", nil, "c")
			},
			want: map[string]string{"a": "a, b", "b": "a, b", "c": "c, d", "d": "c, d"},
		},
		"Chain": {
			why:   "to wait in turn is no cycle",
			world: func(w *world) { ring(w, "a", nil, "b"); ring(w, "b", nil, "c"); ring(w, "c", nil, "d") },
		},
		"Data": {
			why: "I17: data.tengu.io on a workload breaks it",
			world: func(w *world) {
				ring(w, "a", []string{application.PrefixData + "from", "host: a"}, "b")
				ring(w, "b", nil, "a")
			},
		},
		"Ungated": {
			why: "I17: the cure that the message names is one",
			world: func(w *world) {
				ring(w, "a", []string{application.KeyGate, "none"}, "b")
				ring(w, "b", nil, "a")
			},
		},
		"Optional": {
			why:   "no gate waits on an optional endpoint",
			world: func(w *world) { ring(w, "a", nil, "b?"); ring(w, "b", nil, "a") },
		},
		"OptionalBesideRequired": {
			why:   "nor does one because of another endpoint that it waits on",
			world: func(w *world) { ring(w, "a", nil, "b?", "z"); ring(w, "b", nil, "a") },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			test.world(w)
			w.settle(t)
			require.NotEmpty(t, w.relations)
			for app := range w.records {
				c := w.says(app, condition.GateCycle)
				want := ""
				if members, in := test.want[app]; in {
					want = members + " wait for each other: set tengu.io/gate: none on one of them"
				}
				assert.Equal(t, want, c.Message, "%s: %s", app, test.why)
				assert.True(t, want == "" || w.says(app, condition.Stalled).True, "a person must act")
			}
		})
	}
}

// Pods without an agent are named with the cure (INJECTION.md I1).
func TestNotInjected(t *testing.T) {
	tests := map[string]struct {
		why  string
		kind application.WorkloadKind
		pod  func(p *application.Pod)
		want string
	}{
		"Deployment": {
			why: "a rollout makes new pods", kind: application.Deployment, pod: func(*application.Pod) {},
			want: "kubectl rollout restart deployment/web -n shop",
		},
		"BarePod": {
			why: "nobody makes a bare pod again", kind: application.BarePod, pod: func(*application.Pod) {},
			want: "delete it and create it again",
		},
		"Injected": {
			why: "it has its agent", kind: application.Deployment, pod: func(p *application.Pod) { p.Injected = true },
		},
		"OptedOut": {
			why: "who opts out knows", kind: application.Deployment,
			pod: func(p *application.Pod) { p.Annotations = map[string]string{application.KeyInject: "false"} },
		},
		"OptedOutByLabel": {
			why: "by label too", kind: application.Deployment,
			pod: func(p *application.Pod) { p.Labels = map[string]string{application.KeyInject: "false"} },
		},
		"Ending": {
			why: "it goes by itself", kind: application.Deployment, pod: func(p *application.Pod) { p.Ending = true },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.workload(test.kind, "web", map[string]string{application.KeyConsumes: "store:pg", application.KeyRelations: "db"})
			w.pod(test.kind, "web", "web")
			p := w.pods["web"]
			p.Injected = false
			test.pod(&p)
			w.pods["web"] = p
			w.settle(t)
			c := w.says("web", condition.NotInjected)
			assert.Equal(t, test.want != "", c.True, test.why)
			assert.Contains(t, c.Message, test.want, test.why)
		})
	}
}

// An application with a container of Orcon's that does not run is not ready, whatever its relations
// are.
func TestAgentFailed(t *testing.T) {
	for name, provider := range map[string]string{"Complete": "db", "Waiting": "absent"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.external("db", "main:pg")
			w.consumes("web", "store:pg", provider)
			w.pod(application.Deployment, "web", "web-0")
			p := w.pods["web-0"]
			p.AgentTrouble = "container relation-handlers of pod web-0 cannot pull image none:1: not found"
			w.pods["web-0"] = p
			w.settle(t)
			c := w.says("web", condition.AgentFailed)
			assert.True(t, c.True)
			assert.Equal(t, p.AgentTrouble+": kubectl describe pod web-0 -n "+namespace, c.Message)
			assert.False(t, w.says("web", condition.Ready).True)
			assert.True(t, w.says("web", condition.Reconciling).True, "the kubelet retries")
			p.Ending = true
			w.pods["web-0"] = p
			w.settle(t)
			assert.False(t, w.says("web", condition.AgentFailed).True, "the pod goes")
		})
	}
}

// Of several incomplete relations of an endpoint the same one is named, whichever was made
// first: ids come as controllers live and die.
func TestWaitingForSeveral(t *testing.T) {
	for _, first := range []string{"db", "db2"} {
		w := newWorld()
		w.deployment("db", map[string]string{application.KeyProvides: "main:pg"})
		w.deployment("db2", map[string]string{application.KeyProvides: "main:pg"})
		w.consumes("web", "store:pg", first)
		w.settle(t)
		w.consumes("web", "store:pg", "db,db2")
		w.settle(t)
		require.Len(t, w.relations, 2)
		want := []relation.Waiting{{Endpoint: "store", Reason: relation.ReasonNoData, Message: "db:main has not provided data yet; annotate db with data.tengu.io/main, or call relation-set in its pods"}}
		assert.Equal(t, want, w.records["web"].State.Waiting, "%s was first", first)
	}
}
