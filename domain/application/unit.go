package application

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// Unit is one pod of an application.
type Unit struct {
	// Number is the unit's name within its application; never used again for another (SAFETY.md A2, D10).
	Number int
	Pod    string
	PodUID string
	// Address is its pod's; empty as long as the pod has none; until then other units do not see it (RELATIONS.md
	// L2).
	Address string
	// Handles is set where its pod has handlers, which must hear of a relation's end.
	Handles bool
	Since   time.Time
	// Leaving says why it will be gone while its pod ends: the unit itself hears of it, the others later (SAFETY.md E14).
	Leaving string
	// Returns is set while the unit's pod ends and another one takes its place: the unit does not leave.
	Returns bool
	// Gone says why the unit is gone; empty while it lives. GoneSince is when that was found.
	Gone      string
	GoneSince time.Time
	// Overdue is since when its pod's gate is closed although its application has all data; zero if it is not.
	Overdue time.Time
	// Workload is the status of its pod, Failing the event at which its handlers fail, and Unwritten the files that its
	// agent cannot write. All end with the pod.
	Workload  status.Info
	Failing   status.Failure
	Unwritten status.Unwritten
	// Outdated is when its agent was last too old to receive its data; zero if it was not. It ends with the pod too.
	Outdated time.Time
}

// The reasons why a unit is gone (RELATIONS.md E3).
const (
	GoneScaledDown = "scaled-down"
	GoneReplaced   = "replaced"
	// GoneApplication is the reason where no workload is left that makes pods.
	GoneApplication = "application-removed"
)

// keepGone is how many gone units are remembered, for people and for applications that are owed their departure
// (SAFETY.md P2).
const keepGone = 64

// Mourning is the time for which the data of a unit is kept after it is needed no more (SAFETY.md P2).
const Mourning = time.Hour

// Number gives every pod its unit. A StatefulSet's pod has its ordinal; any other takes the next number. It returns the
// units in order of number, and the next number. While another pod has the ordinal as its number, a pod waits
// for it if it ends, and takes the next number if it stays.
func Number(app Application, units []Unit, next int, now time.Time) ([]Unit, int) {
	live, known, pods := map[string]Pod{}, map[string]bool{}, map[int]string{}
	units = slices.Clone(units)
	for _, u := range units {
		known[u.PodUID], pods[u.Number] = true, u.PodUID
	}
	for _, p := range app.Pods {
		if p.Injected {
			live[p.UID] = p
		}
	}
	for _, p := range app.Pods {
		if !p.Injected || known[p.UID] {
			continue
		}
		u := Unit{Number: next, Pod: p.Name, PodUID: p.UID, Since: p.Created, Handles: HearsOfEvents(p.Annotations)}
		holder, held := live[pods[p.Ordinal]]
		switch ordinal := app.ordinals() && p.Ordinal >= 0; {
		case ordinal && held && holder.Ending:
			continue
		case ordinal && !held:
			u.Number = p.Ordinal
			units = slices.DeleteFunc(units, func(old Unit) bool { return old.Number == p.Ordinal })
		}
		next = max(next, u.Number+1)
		units, pods[u.Number] = append(units, u), p.UID
	}
	for i := range units {
		pod, lives := live[units[i].PodUID]
		units[i] = followed(units[i], app, pod, lives, now)
	}
	slices.SortFunc(units, func(a, b Unit) int { return cmp.Compare(a.Number, b.Number) })
	return forget(units), next
}

// followed returns a unit as its pod is: a living one is not gone, whatever it was while its application had no name.
func followed(u Unit, app Application, pod Pod, lives bool, now time.Time) Unit {
	returns := app.returns(u)
	u.Leaving, u.Returns = "", lives && pod.Ending && returns
	switch {
	case lives:
		u.Gone, u.GoneSince = "", time.Time{}
		u.Address = cmp.Or(pod.Address, u.Address)
		if pod.Ending && !returns {
			u.Leaving = app.whyGone(u)
		}
	case u.Gone == "" && !returns:
		u.Gone, u.GoneSince = app.whyGone(u), now
		u.Workload, u.Failing, u.Unwritten, u.Outdated = status.Info{}, status.Failure{}, status.Unwritten{}, time.Time{}
	}
	return u
}

// ordinals reports whether the application is one StatefulSet.
func (a Application) ordinals() bool {
	return len(a.Workloads) == 1 && a.Workloads[0].Kind == StatefulSet
}

// returns reports whether the unit is only between two pods: its ordinal, among the replicas, will have a pod again.
func (a Application) returns(u Unit) bool {
	return a.ordinals() && a.Workloads[0].wants(u.Number) && u.Pod == a.Workloads[0].Name+"-"+strconv.Itoa(u.Number)
}

func (a Application) whyGone(u Unit) string {
	switch {
	case len(a.Workloads) == 0:
		return GoneApplication
	case a.ordinals() && !a.Workloads[0].wants(u.Number):
		return GoneScaledDown
	default:
		return GoneReplaced
	}
}

// forget drops the lowest gone units beyond keepGone.
func forget(units []Unit) []Unit {
	gone := 0
	for _, u := range units {
		if u.Gone != "" {
			gone++
		}
	}
	return slices.DeleteFunc(units, func(u Unit) bool {
		if u.Gone == "" || gone <= keepGone {
			return false
		}
		gone--
		return true
	})
}
