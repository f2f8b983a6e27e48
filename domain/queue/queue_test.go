package queue_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/queue"
)

// limits are those of the tests: four places for fetches and two for renderings, and room for eight of the largest results of each.
func limits() queue.Limits {
	return queue.Limits{queue.Fetch: {Places: 4, Largest: 10, All: 80}, queue.Render: {Places: 2, Largest: 1, All: 8}}
}

func fetch(namespace string) queue.Job  { return queue.Job{Namespace: namespace, Task: queue.Fetch} }
func render(namespace string) queue.Job { return queue.Job{Namespace: namespace, Task: queue.Render} }

func TestNext(t *testing.T) {
	type jobs = []queue.Job
	tests := map[string]struct {
		why   string
		state queue.State
		// want is the index of the job that starts; -1 for none.
		want int
	}{
		"Nothing":    {"nothing waits", queue.State{}, -1},
		"First":      {"whatever came first", queue.State{Waiting: jobs{fetch("a"), render("b")}}, 0},
		"Full":       {"all places are taken", queue.State{Running: jobs{render("a"), render("b")}, Waiting: jobs{render("c")}}, -1},
		"LastFetch":  {"one place is for others", queue.State{Running: jobs{fetch("a"), fetch("a"), fetch("a")}, Waiting: jobs{fetch("a"), fetch("b")}}, 1},
		"LastRender": {"one place is for others", queue.State{Running: jobs{render("a")}, Waiting: jobs{render("a"), render("b")}}, 1},
		"Fewest":     {"who has a running job comes after who has none", queue.State{Running: jobs{render("a")}, Waiting: jobs{fetch("a"), fetch("b")}}, 1},
		"Silent":     {"servers that do not answer", queue.State{Running: jobs{fetch("a"), fetch("a"), fetch("b"), fetch("c")}, Waiting: jobs{fetch("d"), render("a")}}, 1},
		"RoomIsFull": {"what was fetched is not rendered yet", queue.State{Stored: map[queue.Job]int64{fetch("a"): 40, fetch("b"): 31}, Waiting: jobs{fetch("c"), render("a")}}, 1},
		"OwnRoom":    {"half of the room is one namespace's", queue.State{Stored: map[queue.Job]int64{fetch("a"): 31}, Waiting: jobs{fetch("a"), fetch("b")}}, 1},
		"Reserved":   {"what runs may become large", queue.State{Running: jobs{fetch("a")}, Stored: map[queue.Job]int64{fetch("b"): 40, fetch("c"): 21}, Waiting: jobs{fetch("c")}}, -1},
		"OtherRoom":  {"each kind has its room", queue.State{Stored: map[queue.Job]int64{render("a"): 8}, Waiting: jobs{fetch("a")}}, 0},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			got, ok := limits().Next(tc.state)
			if !ok {
				got = -1
			}
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
}

// floor is a place of work as a test drives it.
type floor struct {
	t *rapid.T
	queue.Limits
	queue.State
}

// start starts what may, and checks what must hold.
func (f *floor) start() {
	for {
		i, ok := f.Next(f.State)
		if !ok {
			break
		}
		f.Running = append(f.Running, f.Waiting[i])
		f.Waiting = slices.Delete(f.Waiting, i, i+1)
	}
	all, of := map[queue.Task]int{}, map[queue.Job]int{}
	reserved := map[queue.Task]int64{}
	for _, j := range f.Running {
		all[j.Task]++
		of[j]++
		reserved[j.Task] += f.Limits[j.Task].Largest
	}
	for j, size := range f.Stored {
		reserved[j.Task] += size
	}
	for task, n := range all {
		require.LessOrEqual(f.t, n, f.Limits[task].Places, task)
	}
	for j, n := range of {
		require.Less(f.t, n, f.Limits[j.Task].Places, "%s has the last place", j.Namespace)
	}
	for kind, size := range reserved {
		require.LessOrEqual(f.t, size, f.Limits[kind].All, "%s takes more than its room", kind)
	}
}

// end ends a running job, whose result takes some bytes.
func (f *floor) end(i int, size int64) {
	j := f.Running[i]
	f.Running = slices.Delete(f.Running, i, i+1)
	f.Stored[j] += size
}

// Whatever comes and ends, no bound is exceeded, a namespace with nothing of its own starts at once beside
// one that floods, and everything starts in the end.
func TestNextIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &floor{t: t, Limits: limits(), State: queue.State{Stored: map[queue.Job]int64{}}}
		kinds := rapid.SampledFrom([]queue.Task{queue.Fetch, queue.Render})
		come := func(namespace string) {
			f.Waiting = append(f.Waiting, queue.Job{Namespace: namespace, Task: kinds.Draw(t, "kind")})
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				come("flood")
			case 2:
				if n := len(f.Running); n > 0 {
					i := rapid.IntRange(0, n-1).Draw(t, "running")
					f.end(i, rapid.Int64Range(0, f.Limits[f.Running[i].Task].Largest).Draw(t, "size"))
				}
			case 3:
				for j := range f.Stored {
					delete(f.Stored, j)
				}
			}
			f.start()
		}
		come("small")
		f.start()
		require.True(t, slices.ContainsFunc(f.Running, func(j queue.Job) bool { return j.Namespace == "small" }), "%+v", f.State)
		for _, namespace := range []string{"b", "c", "d"} {
			come(namespace)
		}
		for range 200 {
			f.start()
			if len(f.Running) == 0 {
				break
			}
			f.end(0, 0)
			clear(f.Stored)
		}
		require.Empty(t, f.Waiting, "everything starts in the end")
	})
}

// A job of a namespace that has nothing running is passed by no later one of its kind.
func TestNextKeepsTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		namespaces := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		jobs := rapid.Custom(func(t *rapid.T) queue.Job {
			return queue.Job{Namespace: namespaces.Draw(t, "namespace"), Task: rapid.SampledFrom([]queue.Task{queue.Fetch, queue.Render}).Draw(t, "kind")}
		})
		s := queue.State{Running: rapid.SliceOfN(jobs, 0, 4).Draw(t, "running"), Waiting: rapid.SliceOfN(jobs, 1, 20).Draw(t, "waiting")}
		next, ok := limits().Next(s)
		if !ok {
			return
		}
		chosen := s.Waiting[next]
		for _, earlier := range s.Waiting[:next] {
			passed := earlier.Task == chosen.Task && !slices.ContainsFunc(s.Running, func(j queue.Job) bool { return j.Namespace == earlier.Namespace })
			require.False(t, passed, "%v was passed by %v", earlier, chosen)
		}
	})
}
