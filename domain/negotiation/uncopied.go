package negotiation

import (
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// equip decides whether templates get the consumer keys that they lack, which rolls their workloads out
// (TRUST.md A11). It counts as a restart (SAFETY.md L8). A workload gets the same keys once: keys that another writer
// has removed stay away.
func equip(now time.Time, a application.Application, was relation.Restarts, is restarted) restarted {
	is.restarts.Copied = copied(a, was.Copied)
	bare := slices.DeleteFunc(bareWorkloads(a), func(w application.Workload) bool {
		return was.Copied[w.ID()] == databag.Version(w.Uncopied) || w.RollingOut && w.HasPods(a.Pods)
	})
	if len(bare) == 0 || is.rollout != nil || len(a.Faults) > 0 {
		return is
	}
	recent := lastHour(was.Times, now)
	if next := nextRestart(recent, now); !next.IsZero() {
		is.wake = soonest(is.wake, next)
		return is
	}
	is.restarts.Copied = copied(a, was.Copied, bare...)
	is.restarts.Times, is.rollout = append(recent, now), &relation.Rollout{Workloads: bare}
	return is
}

// copied returns the versions of the keys that the workloads of an application had written, with those of some of them
// that are written now; nil for none.
func copied(a application.Application, before map[string]string, now ...application.Workload) map[string]string {
	var versions map[string]string
	for _, w := range a.Workloads {
		version := before[w.ID()]
		if slices.ContainsFunc(now, func(other application.Workload) bool { return other.ID() == w.ID() }) {
			version = databag.Version(w.Uncopied)
		}
		if version != "" {
			if versions == nil {
				versions = map[string]string{}
			}
			versions[w.ID()] = version
		}
	}
	return versions
}

// bareWorkloads returns the workloads whose templates lack consumer keys, and that do not opt out.
func bareWorkloads(a application.Application) []application.Workload {
	var bare []application.Workload
	for _, w := range a.Workloads {
		if w.Restartable() && len(w.Uncopied) > 0 && w.Uncopied[application.KeyInject] != "false" && !w.OptedOut() {
			bare = append(bare, w)
		}
	}
	return bare
}
