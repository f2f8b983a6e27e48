package application_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// deployed is an application of one workload with these pods, named name=uid or
// name alone.
func deployed(kind application.WorkloadKind, replicas int, pods ...string) application.Application {
	w := application.Workload{Kind: kind, Replicas: replicas}
	w.Name = "web"
	a := application.Application{Name: "web", Workloads: []application.Workload{w}}
	for _, name := range pods {
		p := application.Pod{OwnerKind: kind, OwnerName: "web", Ordinal: -1, Injected: true}
		p.Name, p.UID = name, "uid of "+name
		if kind == application.StatefulSet {
			if _, err := fmt.Sscanf(name, "web-%d", &p.Ordinal); err != nil {
				panic(err)
			}
		}
		a.Pods = append(a.Pods, p)
	}
	return a
}

// Which number a unit has, and when it is gone (SAFETY.md A2, D10).
func TestNumber(t *testing.T) {
	const deployment, stateful = application.Deployment, application.StatefulSet
	tests := map[string]struct {
		why string
		// steps are what the application is, one after the other.
		steps []application.Application
		// want are the units as number:pod, or number:pod(gone), and next the
		// number after them.
		want []string
		next int
	}{
		"Counter": {
			why:   "a pod gets the next number, in order of creation",
			steps: []application.Application{deployed(deployment, 0, "b", "a")},
			want:  []string{"0:b", "1:a"}, next: 2,
		},
		"Kept": {
			why:   "a pod keeps its number",
			steps: []application.Application{deployed(deployment, 0, "a", "b"), deployed(deployment, 0, "b", "c")},
			want:  []string{"0:a(replaced)", "1:b", "2:c"}, next: 3,
		},
		"NeverReused": {
			why:   "D10: a number is never given twice, also when all units are gone",
			steps: []application.Application{deployed(deployment, 0, "a"), deployed(deployment, 0), deployed(deployment, 0, "b")},
			want:  []string{"0:a(replaced)", "1:b"}, next: 2,
		},
		"Returned": {
			why:   "a living pod is not gone: its application had lost its name for a while",
			steps: []application.Application{deployed(deployment, 0, "a"), {Name: "web"}, deployed(deployment, 0, "a")},
			want:  []string{"0:a"}, next: 1,
		},
		"Removed": {
			why:   "RELATIONS.md E3: who hears of it knows that nobody comes in its place",
			steps: []application.Application{deployed(stateful, 1, "web-0"), {Name: "web"}},
			want:  []string{"0:web-0(application-removed)"}, next: 1,
		},
		"Ordinals": {
			why:   "A2: a StatefulSet's pod has its ordinal, in whatever order they come",
			steps: []application.Application{deployed(stateful, 3, "web-2", "web-0")},
			want:  []string{"0:web-0", "2:web-2"}, next: 3,
		},
		"OrdinalBetweenPods": {
			why:   "A2: while its pod is made again the unit lives",
			steps: []application.Application{deployed(stateful, 2, "web-0", "web-1"), deployed(stateful, 2, "web-0")},
			want:  []string{"0:web-0", "1:web-1"}, next: 2,
		},
		"ScaledDown": {
			why:   "A2: a unit departs when its ordinal leaves replicas",
			steps: []application.Application{deployed(stateful, 2, "web-0", "web-1"), deployed(stateful, 1, "web-0")},
			want:  []string{"0:web-0", "1:web-1(scaled-down)"}, next: 2,
		},
		"ScaledToNothing": {
			why:   "A2: all of them",
			steps: []application.Application{deployed(stateful, 2, "web-0", "web-1"), deployed(stateful, 0)},
			want:  []string{"0:web-0(scaled-down)", "1:web-1(scaled-down)"}, next: 2,
		},
		"ScaledUpAgain": {
			why:   "A2: the ordinal is a unit again",
			steps: []application.Application{deployed(stateful, 2, "web-0", "web-1"), deployed(stateful, 1, "web-0"), deployed(stateful, 2, "web-0", "web-1")},
			want:  []string{"0:web-0", "1:web-1"}, next: 2,
		},
		"TwoWorkloads": {
			why: "A2: ordinals count only where the application is one StatefulSet",
			steps: []application.Application{func() application.Application {
				a := deployed(stateful, 5, "web-4")
				a.Workloads = append(a.Workloads, application.Workload{Kind: deployment})
				return a
			}()},
			want: []string{"0:web-4"}, next: 1,
		},
		"NotInjected": {
			why: "a pod without an agent is no unit",
			steps: []application.Application{func() application.Application {
				a := deployed(deployment, 0, "a", "b")
				a.Pods[0].Injected = false
				return a
			}()},
			want: []string{"0:b"}, next: 1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var units []application.Unit
			next := 0
			for _, step := range test.steps {
				units, next = application.Number(step, units, next, time.Time{})
			}
			assert.Equal(t, test.want, written(units), test.why)
			assert.Equal(t, test.next, next, test.why)
		})
	}
}

func written(units []application.Unit) []string {
	var all []string
	for _, u := range units {
		text := fmt.Sprintf("%d:%s", u.Number, u.Pod)
		if u.Gone != "" {
			text += "(" + u.Gone + ")"
		}
		all = append(all, text)
	}
	return all
}

// A unit whose pod ends is told so, unless another pod is the same unit; the others
// hear when it is gone (SAFETY.md A2, E14).
func TestNumberOfAPodThatEnds(t *testing.T) {
	const deployment, stateful = application.Deployment, application.StatefulSet
	ends := func(a application.Application) application.Application {
		a.Pods[len(a.Pods)-1].Ending = true
		return a
	}
	orphaned := deployed(deployment, 0, "web")
	orphaned.Workloads = nil
	tests := map[string]struct {
		why  string
		app  application.Application
		want string
	}{
		"Lives":      {why: "nothing ends", app: deployed(deployment, 1, "web")},
		"Replaced":   {why: "another pod is another unit", app: ends(deployed(deployment, 1, "web")), want: application.GoneReplaced},
		"Restarted":  {why: "A2: a StatefulSet's unit comes back", app: ends(deployed(stateful, 2, "web-0", "web-1"))},
		"ScaledDown": {why: "A2: its ordinal left replicas", app: ends(deployed(stateful, 1, "web-0", "web-1")), want: application.GoneScaledDown},
		"Removed":    {why: "no workload makes another", app: ends(orphaned), want: application.GoneApplication},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			units, next := application.Number(test.app, nil, 0, time.Time{})
			assert.Equal(t, test.want, units[len(units)-1].Leaving, test.why)
			assert.Empty(t, units[len(units)-1].Gone, "E14: it is still there")
			test.app.Pods = nil
			units, _ = application.Number(test.app, units, next, time.Time{})
			assert.Empty(t, units[len(units)-1].Leaving, "what is gone has left")
		})
	}
}

// A pod that was made again under the same name, as a StatefulSet does, is the
// same unit by another pod (SAFETY.md A2).
func TestNumberOfARestartedOrdinal(t *testing.T) {
	a := deployed(application.StatefulSet, 1, "web-0")
	units, next := application.Number(a, nil, 0, time.Time{})
	a.Pods[0].UID, a.Pods[0].Created = "another", time.Unix(100, 0).UTC()
	again, nextAgain := application.Number(a, units, next, time.Time{})
	assert.Equal(t, []application.Unit{{Number: 0, Pod: "web-0", PodUID: "another", Since: time.Unix(100, 0).UTC()}}, again)
	assert.Equal(t, next, nextAgain)
	assert.NotEqual(t, "another", units[0].PodUID, "what was handed in is left as it was")
}

// However pods come and go, numbers are unique, never given to another pod, and
// what is remembered is bounded; a second look changes nothing (SAFETY.md P2).
func TestNumbersAreNeverReused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var units []application.Unit
		next, made, now := 0, 0, time.Unix(0, 0)
		owners := map[int]string{}
		pods := []string{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "minutes")) * time.Minute)
			for range rapid.IntRange(0, 4).Draw(t, "more") {
				made++
				pods = append(pods, fmt.Sprintf("pod-%d", made))
			}
			pods = pods[rapid.IntRange(0, len(pods)).Draw(t, "fewer"):]
			a := deployed(application.Deployment, 0, pods...)
			units, next = application.Number(a, units, next, now)

			living := 0
			for _, u := range units {
				if owner, given := owners[u.Number]; given {
					assert.Equal(t, owner, u.Pod, "a number is never given twice")
				}
				owners[u.Number] = u.Pod
				assert.Less(t, u.Number, next)
				if u.Gone == "" {
					living++
				} else {
					assert.False(t, u.GoneSince.After(now))
				}
			}
			assert.Equal(t, len(pods), living, "every pod is a unit, and no other")
			assert.LessOrEqual(t, len(units)-living, 64)
			again, same := application.Number(a, units, next, now)
			assert.Equal(t, units, again)
			assert.Equal(t, next, same)
		}
	})
}

// However an application changes between a Deployment, a StatefulSet and both, a pod keeps its number as long as it lives: no
// other pod is its unit meanwhile (SAFETY.md D10, TRUST.md T11). A pod whose ordinal a pod that ends has waits for that.
func TestLivingPodsKeepTheirNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var units []application.Unit
		next, made := 0, 0
		numbers := map[string]int{}
		var pods []application.Pod // of Deployments: they may end long after their owner has gone
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			replicas := rapid.IntRange(0, 4).Draw(t, "replicas")
			var ordinals []string
			for i := range replicas {
				ordinals = append(ordinals, fmt.Sprintf("web-%d", i))
			}
			a := deployed(application.StatefulSet, replicas, ordinals...)
			if rapid.IntRange(0, 2).Draw(t, "no StatefulSet") == 0 {
				a.Workloads, a.Pods = nil, nil
			}
			deployment := rapid.Bool().Draw(t, "Deployment")
			if deployment {
				made++
				one := deployed(application.Deployment, 0, fmt.Sprintf("pod-%d", made))
				a.Workloads, pods = append(a.Workloads, one.Workloads...), append(pods, one.Pods...)
			}
			pods = slices.Clone(pods[rapid.IntRange(0, len(pods)).Draw(t, "fewer"):])
			for i := range pods {
				pods[i].Ending = !deployment
			}
			a.Pods = append(a.Pods, pods...)
			units, next = application.Number(a, units, next, time.Time{})

			now, taken := map[string]int{}, map[int]bool{}
			for _, u := range units {
				require.False(t, taken[u.Number], "two units have number %d", u.Number)
				taken[u.Number] = true
				if u.Gone == "" {
					now[u.PodUID] = u.Number
				}
			}
			for _, p := range a.Pods {
				number, is := now[p.UID]
				if before, was := numbers[p.UID]; was {
					require.True(t, is, "%s is no unit any more", p.Name)
					require.Equal(t, before, number, p.Name)
				}
				waits := slices.ContainsFunc(pods, func(q application.Pod) bool { return q.Ending && now[q.UID] == p.Ordinal })
				require.True(t, is || waits, "%s is no unit", p.Name)
			}
			numbers = map[string]int{}
			for _, p := range a.Pods {
				if number, is := now[p.UID]; is {
					numbers[p.UID] = number
				}
			}
		}
	})
}

// A StatefulSet's units are its ordinals, whatever it was scaled to before.
func TestOrdinalsAreNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var units []application.Unit
		next := 0
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			replicas := rapid.IntRange(0, 40).Draw(t, "replicas")
			var pods []string
			for i := range rapid.IntRange(0, replicas).Draw(t, "there") {
				pods = append(pods, fmt.Sprintf("web-%d", i))
			}
			a := deployed(application.StatefulSet, replicas, pods...)
			units, next = application.Number(a, units, next, time.Time{})
			for _, u := range units {
				assert.Equal(t, fmt.Sprintf("web-%d", u.Number), u.Pod)
				if u.Number < len(pods) {
					assert.Empty(t, u.Gone)
				}
				if u.Number >= replicas {
					assert.Equal(t, application.GoneScaledDown, u.Gone)
				}
			}
			assert.LessOrEqual(t, len(units), 40+64)
		}
	})
}
