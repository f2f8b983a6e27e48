package negotiation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Each pod has its number, which no other pod gets, for as long as it serves (SAFETY.md A2, D10, E13,
// TRUST.md T11).
func TestNumberUnits(t *testing.T) {
	pod := func(uid string) application.Pod {
		return application.Pod{Object: application.Object{Name: "web-" + uid, UID: uid}, Injected: true, Ordinal: -1}
	}
	web := func(pods ...application.Pod) []application.Application {
		return []application.Application{{Name: "web", Pods: pods, Workloads: []application.Workload{{Kind: application.Deployment}}}}
	}
	ending := func(p application.Pod, deadline time.Duration) application.Pod {
		p.Ending, p.Deadline = true, at().Add(deadline)
		return p
	}
	unit := func(number int, uid string) application.Unit {
		return application.Unit{Number: number, Pod: "web-" + uid, PodUID: uid}
	}
	tests := map[string]struct {
		why      string
		apps     []application.Application
		known    []application.Unit
		strays   []application.Pod
		optedOut bool
		want     map[int]string
		gone     []int
		next     int
	}{
		"First":     {why: "numbers begin at 0", apps: web(pod("a"), pod("b")), want: map[int]string{0: "a", 1: "b"}, next: 2},
		"Same":      {why: "a pod keeps its number", apps: web(pod("a"), pod("b")), known: []application.Unit{unit(0, "b")}, want: map[int]string{0: "b", 1: "a"}, next: 2},
		"Replaced":  {why: "a new pod has a new number", apps: web(pod("b")), known: []application.Unit{unit(0, "a")}, want: map[int]string{0: "a", 1: "b"}, gone: []int{0}, next: 2},
		"NoPods":    {why: "its unit is gone", apps: web(), known: []application.Unit{unit(0, "a")}, want: map[int]string{0: "a"}, gone: []int{0}, next: 1},
		"Forgotten": {why: "the objects of the application are gone, and its units with them", known: []application.Unit{unit(0, "a")}, want: map[int]string{0: "a"}, gone: []int{0}, next: 1},
		"Stray": {
			why: "T11: its workload is gone, and the pod still serves", known: []application.Unit{unit(0, "a")}, strays: []application.Pod{pod("a")},
			want: map[int]string{0: "a"}, next: 1,
		},
		"StrayEnds": {
			why: "until its time is over", known: []application.Unit{unit(0, "a")}, strays: []application.Pod{ending(pod("a"), -59*time.Second)},
			want: map[int]string{0: "a"}, next: 1,
		},
		"StrayIsLost": {
			why: "and a minute longer, since its node is lost then", known: []application.Unit{unit(0, "a")},
			strays: []application.Pod{ending(pod("a"), -time.Minute)}, want: map[int]string{0: "a"}, gone: []int{0}, next: 1,
		},
		"Ends": {
			why: "so does a pod whose workload is there", apps: web(ending(pod("a"), -59*time.Second), pod("b")),
			known: []application.Unit{unit(0, "a"), unit(1, "b")}, want: map[int]string{0: "a", 1: "b"}, next: 2,
		},
		"IsLost": {
			why: "and is lost as late", apps: web(ending(pod("a"), -time.Minute), pod("b")),
			known: []application.Unit{unit(0, "a"), unit(1, "b")}, want: map[int]string{0: "a", 1: "b"}, gone: []int{0}, next: 2,
		},
		"StrangeStray": {why: "a pod that was no unit gets no number", apps: web(), strays: []application.Pod{pod("a")}, want: map[int]string{}},
		"StrayOfOne": {
			why: "one of two workloads is gone", apps: web(pod("b")), known: []application.Unit{unit(0, "a"), unit(1, "b")},
			strays: []application.Pod{pod("a")}, want: map[int]string{0: "a", 1: "b"}, next: 2,
		},
		"OptedOut": {why: "E13: what is not looked at is not gone", known: []application.Unit{unit(0, "a")}, optedOut: true, want: map[int]string{0: "a"}, next: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := relation.Snapshot{Namespace: "shop", Now: at(), Applications: tc.apps, Strays: tc.strays, OptedOut: tc.optedOut}
			if tc.known != nil {
				s.Records = []relation.Record{recordOf("web", tc.known...)}
			}
			u := number(index(s))
			got, gone := map[int]string{}, []int(nil)
			for _, unit := range u.of(inShop("web", "")) {
				got[unit.Number] = unit.PodUID
				if unit.Gone != "" {
					gone = append(gone, unit.Number)
				}
			}
			assert.Equal(t, tc.want, got, tc.why)
			assert.Equal(t, tc.gone, gone, tc.why)
			assert.Equal(t, tc.next, u.next["web"], tc.why)
		})
	}
}
