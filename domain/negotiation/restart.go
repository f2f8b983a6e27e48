package negotiation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// How often an application is restarted for changes at the most (SAFETY.md L8).
const (
	restartPause   = 5 * time.Minute
	restartsAnHour = 6
)

// restarted is the effect of changed data on an application.
type restarted struct {
	restarts relation.Restarts
	// rollout is to be asked for now; nil for none.
	rollout *relation.Rollout
	// paused has why a restart is put off.
	paused []condition.Condition
	wake   time.Time
}

// restart decides whether a change of data rolls the application out, and reports pods that a rollout of the
// change leaves to people (TRUST.md A9).
func restart(c contents, known relations, a application.Application, was relation.Restarts) restarted {
	is := rollOut(c, known, a, was)
	if a.OnChange == application.Restart && len(is.paused) == 0 && is.rollout == nil {
		is.paused = leftToPeople(a)
	}
	return is
}

// leftToPeople returns the condition for workloads whose pods of an earlier template are replaced by nothing.
func leftToPeople(a application.Application) []condition.Condition {
	for _, w := range a.Workloads {
		if w.LeftToPeople != "" && w.TemplateAnnotations[application.KeyDataVersion] != "" {
			return paused(relation.ReasonLeftToPeople, fmt.Sprintf(
				"%s %s has pods of an earlier template, which may have earlier data: %s", w.Kind, w.Name, w.LeftToPeople))
		}
	}
	return nil
}

// rollOut decides whether a change of data rolls the application out. It looks at the remote application's bag of
// ready relations only; the first data of a relation does not count (SAFETY.md L8).
func rollOut(c contents, known relations, a application.Application, was relation.Restarts) restarted {
	if a.OnChange != application.Restart {
		return restarted{restarts: relation.Restarts{Times: was.Times}}
	}
	versions, changed := versionsOf(c, known, a, was.Versions)
	is := relation.Restarts{Versions: versions, Times: was.Times}
	if !changed {
		return restarted{restarts: is}
	}
	is.Versions = keepKnown(versions, was.Versions)
	workloads, rolling := restartable(a)
	recent := lastHour(was.Times, c.Now)
	next := nextRestart(recent, c.Now)
	version := databag.Version(versions)
	switch {
	case len(workloads) == 0:
		return restarted{restarts: is, paused: paused(relation.ReasonNothingToRestart,
			"data changed, but Jobs, CronJobs and bare Pods are not restarted: recreate them to use the new data")}
	case askedFor(workloads, version):
		// A process before this one died before it could record it.
		return restarted{restarts: relation.Restarts{Versions: versions, Times: append(recent, c.Now)}}
	case rolling:
		return restarted{restarts: is} // its end is a change, which wakes us
	case len(recent) >= restartsAnHour:
		return restarted{restarts: is, wake: next, paused: paused(relation.ReasonTooManyRestarts,
			fmt.Sprintf("data changed more than %d times within an hour: the next restart waits, files are up to date", restartsAnHour))}
	case !next.IsZero():
		return restarted{restarts: is, wake: next}
	}
	is.Versions = versions
	is.Times = append(recent, c.Now)
	return restarted{restarts: is, rollout: &relation.Rollout{Workloads: workloads, Version: version}}
}

// nextRestart returns when the next rollout may begin; zero for now.
func nextRestart(recent []time.Time, now time.Time) time.Time {
	if len(recent) >= restartsAnHour {
		return recent[0].Add(time.Hour)
	}
	if many := len(recent); many > 0 && now.Before(recent[many-1].Add(restartPause)) {
		return recent[many-1].Add(restartPause)
	}
	return time.Time{}
}

// askedFor reports whether the templates of all workloads carry the version
// already.
func askedFor(workloads []application.Workload, version string) bool {
	return !slices.ContainsFunc(workloads, func(w application.Workload) bool {
		return w.TemplateAnnotations[application.KeyDataVersion] != version
	})
}

func paused(reason, message string) []condition.Condition {
	return []condition.Condition{condition.New(condition.RestartsPaused, true, reason, message)}
}

// versionsOf returns the bag version of each relation of a; one that is not ready
// keeps the version it had. changed says whether a known one differs.
func versionsOf(c contents, known relations, a application.Application, was map[string]string,
) (versions map[string]string, changed bool) {
	for r := range known.of(a.Name) {
		if r.Requirer.Application != a.Name || r.Peer() || r.UID == "" || !r.Alive() {
			continue
		}
		before, known := was[r.UID]
		now := before
		if r.Complete() && !c.unreadable.freezes(r) {
			now = c.versionIn(r)
		}
		if now == "" {
			continue
		}
		if versions == nil {
			versions = map[string]string{}
		}
		versions[r.UID] = now
		changed = changed || known && now != before
	}
	return versions, changed
}

// keepKnown returns now, but with the versions that were known before: the
// change is still to be answered.
func keepKnown(now, before map[string]string) map[string]string {
	kept := maps.Clone(now)
	for uid := range kept {
		kept[uid] = cmp.Or(before[uid], kept[uid])
	}
	return kept
}

func lastHour(times []time.Time, now time.Time) []time.Time {
	var kept []time.Time
	for _, t := range times {
		if t.After(now.Add(-time.Hour)) {
			kept = append(kept, t)
		}
	}
	return kept
}

func restartable(a application.Application) (workloads []application.Workload, rolling bool) {
	for _, w := range a.Workloads {
		if w.Restartable() {
			workloads = append(workloads, w)
			rolling = rolling || w.RollingOut
		}
	}
	return slices.Clip(workloads), rolling
}
