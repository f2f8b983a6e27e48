package negotiation_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// restarting is web, in restart mode, related to db, with its first rollout
// long over.
func restarting() *world {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db", application.KeyOnChange, "restart")
	w.pod(application.Deployment, "web", "web-1")
	return w
}

// restarts is how often the Deployment web was rolled out.
func (w *world) restarts() int { return w.rollouts["Deployment/web"] }

// roll settles, ends what rolls out, and settles again.
func (w *world) roll(t require.TestingT) {
	w.settle(t)
	w.finishRollouts()
	w.settle(t)
}

// rollOut changes the template of a workload; what it has already changes nothing.
func (w *world) rollOut(workload application.Workload, version string) {
	key, after := workload.ID(), maps.Clone(workload.Uncopied)
	now, there := w.workloads[key]
	if version != "" {
		after = with(after, application.KeyDataVersion, version)
	}
	if after = joined(now.TemplateAnnotations, after); !there || maps.Equal(after, now.TemplateAnnotations) {
		return
	}
	now.TemplateAnnotations, now.Uncopied, now.RollingOut = after, nil, true
	w.workloads[key] = now
	w.rollouts[key]++
}

// What is a change that restarts, and how often (SAFETY.md L8); the same data
// again is none (RELATIONS.md P3). TRUST.md A9.
func TestRestart(t *testing.T) {
	tests := map[string]struct {
		why     string
		happens func(t require.TestingT, w *world)
		want    int
		paused  string
	}{
		"FirstData": {
			why:     "the pods waited for the first data at their gate: it is no change",
			happens: func(require.TestingT, *world) {},
		},
		"Change": {
			why:     "one change is one rollout",
			happens: func(_ require.TestingT, w *world) { w.port("db", 1) },
			want:    1,
		},
		"FilesMode": {
			why: "who did not ask for restarts gets none",
			happens: func(_ require.TestingT, w *world) {
				w.consumes("web", "store:pg", "db")
				w.port("db", 1)
			},
		},
		"TwoAtOnce": {
			why: "two providers that change together are one rollout",
			happens: func(t require.TestingT, w *world) {
				w.external("queue", "amqp")
				w.consumes("web", "store:pg,amqp", "db,queue", application.KeyOnChange, "restart")
				w.roll(t)
				w.port("db", 1)
				w.port("queue", 1)
			},
			want: 1,
		},
		"NewRelation": {
			why: "the first data of a second relation is no change of the first",
			happens: func(_ require.TestingT, w *world) {
				w.external("queue", "amqp")
				w.consumes("web", "store:pg,amqp?", "db,queue", application.KeyOnChange, "restart")
			},
		},
		"RelationEnds": {
			why: "nor is the end of one: files say so",
			happens: func(t require.TestingT, w *world) {
				w.consumes("web", "store:pg?", "", application.KeyOnChange, "restart")
				r := w.only(t)
				w.remove(r.Name, r.UID)
				w.settle(t)
				w.later(t, time.Minute)
			},
		},
		"ProviderRecreated": {
			why: "the same data after an interruption is no change",
			happens: func(t require.TestingT, w *world) {
				delete(w.services, "db")
				w.roll(t)
				w.external("db", "main:pg")
			},
		},
		"ProviderRecreatedOtherwise": {
			why: "other data after an interruption is one",
			happens: func(t require.TestingT, w *world) {
				delete(w.services, "db")
				w.roll(t)
				w.external("db", "main:pg")
				w.port("db", 1)
			},
			want: 1,
		},
		"OwnData": {
			why: "L8: only the remote application's bag counts, or two sides restart each other for ever",
			happens: func(_ require.TestingT, w *world) {
				w.consumes("web", "store:pg", "db", application.KeyOnChange, "restart", application.PrefixData+"store", "database: orders")
			},
		},
		"WhileRolling": {
			why: "one rollout at a time",
			happens: func(t require.TestingT, w *world) {
				w.port("db", 1)
				w.settle(t)
				w.now = w.now.Add(time.Hour)
				w.port("db", 2)
			},
			want: 1,
		},
		"LeftToPeople": {
			why: "A9: what nothing replaces is reported, and not awaited",
			happens: func(t require.TestingT, w *world) {
				w.port("db", 1)
				w.settle(t)
				web := w.workloads["Deployment/web"]
				web.RollingOut, web.LeftToPeople = false, "it is paused"
				w.workloads["Deployment/web"] = web
				w.settle(t)
				assert.Contains(t, w.says("web", condition.RestartsPaused).Message, "Deployment web has pods of an earlier template, which may have earlier data: it is paused")
				w.now = w.now.Add(time.Hour)
				w.port("db", 2)
			},
			want:   2,
			paused: relation.ReasonLeftToPeople,
		},
		"AfterRolling": {
			why: "and the next when it is over",
			happens: func(t require.TestingT, w *world) {
				w.port("db", 1)
				w.settle(t)
				w.now = w.now.Add(time.Hour)
				w.port("db", 2)
				w.roll(t)
			},
			want: 2,
		},
		"TooSoon": {
			why: "at most one in five minutes",
			happens: func(t require.TestingT, w *world) {
				w.port("db", 1)
				w.roll(t)
				w.port("db", 2)
				w.roll(t)
				w.now = w.now.Add(5*time.Minute - time.Second)
			},
			want: 1,
		},
		"SoonEnough": {
			why: "what came too soon is not forgotten",
			happens: func(t require.TestingT, w *world) {
				w.port("db", 1)
				w.roll(t)
				w.port("db", 2)
				w.roll(t)
				w.now = w.now.Add(5 * time.Minute)
			},
			want: 2,
		},
		"ChangedBack": {
			why: "what was changed back in the meantime needs no restart",
			happens: func(t require.TestingT, w *world) {
				w.port("db", 1)
				w.roll(t)
				w.port("db", 2)
				w.roll(t)
				w.port("db", 1)
				w.now = w.now.Add(time.Hour)
			},
			want: 1,
		},
		"TooOften": {
			why: "at most six in an hour",
			happens: func(t require.TestingT, w *world) {
				for i := range 7 {
					w.port("db", i+1)
					w.roll(t)
					w.now = w.now.Add(6 * time.Minute)
				}
			},
			want: 6, paused: "TooManyRestarts",
		},
		"TooOftenIsOver": {
			why: "an hour after the first there is room for one, and nothing is paused",
			happens: func(t require.TestingT, w *world) {
				for i := range 7 {
					w.port("db", i+1)
					w.roll(t)
					w.now = w.now.Add(6 * time.Minute)
				}
				w.now = w.now.Add(18 * time.Minute)
			},
			want: 7,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := restarting()
			w.roll(t)
			test.happens(t, w)
			w.settle(t)
			assert.Equal(t, test.want, w.restarts(), test.why)
			c := w.says("web", condition.RestartsPaused)
			assert.Equal(t, test.paused, c.Reason, test.why)
			assert.Equal(t, test.paused != "", c.True)
		})
	}
}

// A version has no order: of two contents that alternate one has the version that
// reads as the lesser, and every change is one all the same (RELATIONS.md V2).
func TestVersionsAreNotOrdered(t *testing.T) {
	w := restarting()
	w.roll(t)
	seen := map[string]bool{}
	for i := range 4 {
		w.port("db", 1+i%2)
		w.now = w.now.Add(2 * time.Hour)
		w.roll(t)
		seen[databag.Version(w.bagOfDB("main"))] = true
		assert.Equal(t, i+1, w.restarts())
	}
	assert.Len(t, seen, 2)
}

// What cannot be restarted says so, and how to go on (SAFETY.md L8).
func TestNothingToRestart(t *testing.T) {
	annotations := map[string]string{application.KeyConsumes: "store:pg", application.KeyRelations: "db", application.KeyOnChange: "restart"}
	for _, kind := range []application.WorkloadKind{application.BarePod, application.Job, application.CronJob} {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld()
			w.external("db", "main:pg")
			w.workload(kind, "web", annotations)
			w.settle(t)
			assert.False(t, w.says("web", condition.RestartsPaused).True)
			w.port("db", 1)
			w.settle(t)
			assert.Equal(t, "NothingToRestart", w.says("web", condition.RestartsPaused).Reason)
			assert.Contains(t, w.says("web", condition.RestartsPaused).Message, "recreate them")

			clear(w.workloads)
			w.settle(t)
			w.workload(kind, "web", annotations)
			w.settle(t)
			assert.False(t, w.says("web", condition.RestartsPaused).True, "created again it has the new data")
		})
	}
}

// Two sides in restart mode that consume each other: a change of one restarts
// the other once, and then it is quiet (SAFETY.md L8).
func TestTwoSidesDoNotRestartEachOther(t *testing.T) {
	w := newWorld()
	for name, other := range map[string]string{"web": "api", "api": "web"} {
		w.consumes(name, other+":http", other+":"+other+"-http", application.KeyOnChange, "restart")
		w.service(name, map[string]string{application.KeyProvides: name + "-http:http"})
	}
	w.roll(t)
	assert.Equal(t, "api:web-web:web-http web:api-api:api-http", w.related())
	s := w.services["api"]
	s.Ports = []application.Port{{Name: "http", Number: 8080}}
	w.services["api"] = s
	for range 10 {
		w.roll(t)
		w.now = w.now.Add(10 * time.Minute)
	}
	assert.Equal(t, map[string]int{"Deployment/web": 1}, w.rollouts)
}

// However the data changes, rollouts keep their distance, none is lost, and the
// last data always arrives (SAFETY.md L8, RELATIONS.md V3).
func TestRestartsKeepTheirDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := restarting()
		w.settle(t)
		var times []time.Time
		before := 0
		look := func() {
			w.settle(t)
			for ; before < w.restarts(); before++ {
				times = append(times, w.now)
			}
		}
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			w.port("db", rapid.IntRange(1, 3).Draw(t, "port"))
			look()
			if rapid.Bool().Draw(t, "rolled") {
				w.finishRollouts()
				look()
			}
			w.now = w.now.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "seconds")) * time.Second)
			look()
		}
		for i := range times {
			if i >= 1 {
				assert.GreaterOrEqual(t, times[i].Sub(times[i-1]), 5*time.Minute)
			}
			if i >= 6 {
				assert.GreaterOrEqual(t, times[i].Sub(times[i-6]), time.Hour)
			}
		}
		for range 3 {
			w.now = w.now.Add(time.Hour)
			w.finishRollouts()
			look()
		}
		assert.LessOrEqual(t, len(w.records["web"].State.Restarts.Times), 6, "what is remembered is bounded")
		w.now = w.now.Add(2 * time.Hour)
		w.finishRollouts()
		quiet := w.restarts()
		look()
		assert.Equal(t, quiet, w.restarts(), "what nobody changes is not restarted")
		assert.False(t, w.says("web", condition.RestartsPaused).True)
	})
}

// A process that died between the rollout and its record is followed by one that
// records it at once, also while the rollout gets nowhere (SAFETY.md L8).
func TestRestartThatWasNotRecorded(t *testing.T) {
	w := restarting()
	w.roll(t)
	w.port("db", 1)
	decisions, _ := negotiation.Negotiate(w.observe())
	for _, d := range decisions {
		if r, ok := d.(relation.Remember); ok && r.Rollout != nil {
			w.rollOut(r.Rollout.Workloads[0], r.Rollout.Version)
		}
	}
	require.Equal(t, 1, w.restarts())
	w.settle(t)
	assert.Equal(t, 1, w.restarts(), "one change is one rollout")
	assert.Len(t, w.records["web"].State.Restarts.Times, 1, "the rollout that is under way is recorded")
}

// A restart that is refused, as by a policy, keeps nothing else of its application from being stored: a new pod gets its
// number (SAFETY.md D10, L8).
func TestARefusedRestartHoldsBackNothing(t *testing.T) {
	w := restarting()
	w.roll(t)
	w.port("db", 1)
	w.pod(application.Deployment, "web", "web-2")
	for range 3 {
		decisions, _ := w.negotiate(t)
		w.run(slices.DeleteFunc(decisions, func(d relation.Decision) bool {
			r, is := d.(relation.Remember)
			return is && r.Rollout != nil
		}), all)
	}
	assert.Len(t, w.records["web"].State.Units, 2)
	assert.Zero(t, w.restarts())
	w.roll(t)
	assert.Equal(t, 1, w.restarts(), "it is wanted as before")
}
