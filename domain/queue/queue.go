// Package queue decides which work starts next where namespaces share a few places, so that the excess of
// one namespace is its own.
//
// What must not come in: how work is done, and how long it takes.
package queue

// Task is a kind of work.
type Task string

// The kinds of work.
const (
	// Fetch waits for servers; its result lies on disk until the last rendering has used it.
	Fetch Task = "fetch"
	// Render computes; its result lies in memory until it is handed over.
	Render Task = "render"
)

// Job is one piece of work.
type Job struct {
	Namespace string
	Task      Task
}

// State is the work of all namespaces at one time.
type State struct {
	Running []Job
	// Waiting are in the order in which they came.
	Waiting []Job
	// Stored is how many bytes the results take that are not used up yet, by the work that they are of.
	Stored map[Job]int64
}

// Room bounds a kind of work.
type Room struct {
	// Places is how many jobs run at a time: at least 2.
	Places int
	// Largest is how large one result may be, in bytes; All is how large all may be together, at least twice as large.
	Largest, All int64
}

// Limits bound what runs and what is stored.
type Limits map[Task]Room

// Places returns how many jobs run at a time.
func (l Limits) Places() int {
	n := 0
	for _, r := range l {
		n += r.Places
	}
	return n
}

// Next returns the index of the waiting job that starts next; false if none may. A namespace never has the
// last place of a room, nor more than half of its bytes, and fetches have other places than renderings, so that servers
// that do not answer stop no rendering. Of those that may start, one of a namespace with the fewest running jobs does,
// and of these the one that came first.
func (l Limits) Next(s State) (int, bool) {
	running := map[string]int{}
	for _, j := range s.Running {
		running[j.Namespace]++
	}
	next, found := 0, false
	for i, j := range s.Waiting {
		if l.may(s, j) && (!found || running[j.Namespace] < running[s.Waiting[next].Namespace]) {
			next, found = i, true
		}
	}
	return next, found
}

// may reports whether a job may start now.
func (l Limits) may(s State, j Job) bool {
	room := l[j.Task]
	var alike, own int
	for _, r := range s.Running {
		if r.Task == j.Task {
			alike++
		}
		if r == j {
			own++
		}
	}
	if alike >= room.Places || own >= room.Places-1 {
		return false
	}
	// What runs may have the largest result.
	all := room.Largest * int64(alike+1)
	for of, size := range s.Stored {
		if of.Task == j.Task {
			all += size
		}
	}
	return all <= room.All && room.Largest*int64(own+1)+s.Stored[j] <= room.All/2
}
