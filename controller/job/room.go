package job

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

const (
	// longest is how long a Workspace waits for room before others let it go first.
	longest = 2 * poll
	// lapse is how long after it was last looked at a Workspace does not wait any more.
	lapse = 4 * poll
)

// turn is since when a Workspace waits for room, and when it was last looked at.
type turn struct{ since, seen time.Duration }

// room returns why no further Run may get a lock now. What this process has admitted counts before the cache shows it; its
// caller holds the mutex of admissions until its own Run is noted. A Workspace that waits for nothing but room has its turn.
func (l admission) room(ctx context.Context, e workspace.Extent) error {
	if l.Most == (run.Most{}) {
		return nil
	}
	var list v1alpha1.JobWorkspaceList
	if err := l.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list the JobWorkspaces: %w", err)
	}
	all, by := 0, map[string]int{}
	known := map[types.NamespacedName]bool{}
	for i := range list.Items {
		o := &list.Items[i]
		name := client.ObjectKeyFromObject(o)
		known[name] = true
		if l.memories.holds(name, o) {
			by[o.Namespace]++
			all++
		}
	}
	for name := range l.memories.admitted {
		if !known[name] {
			delete(l.memories.admitted, name)
		}
	}
	err := l.Most.Room(all, by[l.name.Namespace])
	if err == nil {
		err = l.Most.Turn(l.name.Namespace, l.memories.longer(l.name, l.Clock()), all, by)
	}
	if err == nil {
		delete(l.memories.turns, l.name)
	} else if l.w.Startable(e) == nil {
		l.memories.wait(l.name, l.Clock())
	}
	return err
}

// wait notes that a Workspace waits for room.
func (m *memories) wait(name types.NamespacedName, now time.Duration) {
	if m.turns == nil {
		m.turns = map[types.NamespacedName]turn{}
	}
	m.turns[name] = turn{m.waits(name, now), now}
}

// waits returns since when a Workspace waits for room: from now on, if it did not until now.
func (m *memories) waits(name types.NamespacedName, now time.Duration) time.Duration {
	maps.DeleteFunc(m.turns, func(_ types.NamespacedName, t turn) bool { return now-t.seen > lapse })
	if known, waits := m.turns[name]; waits {
		return known.since
	}
	return now
}

// longer returns the namespaces of Workspaces that have waited longer than another one, and for long, in their order.
func (m *memories) longer(name types.NamespacedName, now time.Duration) (namespaces []string) {
	since := m.waits(name, now)
	before := func(a, b types.NamespacedName) int { return cmp.Compare(m.turns[a].since, m.turns[b].since) }
	for _, other := range slices.SortedFunc(maps.Keys(m.turns), before) {
		if t := m.turns[other]; t.since < since && now-t.since >= longest {
			namespaces = append(namespaces, other.Namespace)
		}
	}
	return namespaces
}

// holds reports whether a Run holds the lock of a Workspace, as the cache shows it or as this process has written it since,
// and no person must decide about it.
func (m *memories) holds(name types.NamespacedName, o *v1alpha1.JobWorkspace) bool {
	if fence, unseen := m.admitted[name]; unseen && (o.State == nil || o.State.Fence < fence) {
		return true
	}
	delete(m.admitted, name)
	return o.State != nil && o.State.Lock != nil && o.State.Lock.Recovery == nil && o.State.Lock.Run.Origin == ""
}

// admitted notes that a Run has got the lock.
func (l admission) admitted() {
	if l.Most == (run.Most{}) {
		return
	}
	if l.memories.admitted == nil {
		l.memories.admitted = map[types.NamespacedName]int64{}
	}
	l.memories.admitted[l.name] = l.w.Fence
}
