package job

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// room returns why no further Run may get a lock now. What this process has admitted counts before the cache shows it; its
// caller holds the mutex of admissions until its own Run is noted.
func (l admission) room(ctx context.Context) error {
	if l.Most == (run.Most{}) {
		return nil
	}
	var list v1alpha1.JobWorkspaceList
	if err := l.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list the JobWorkspaces: %w", err)
	}
	all, namespace := 0, 0
	known := map[types.NamespacedName]bool{}
	for i := range list.Items {
		o := &list.Items[i]
		name := client.ObjectKeyFromObject(o)
		known[name] = true
		switch {
		case !l.memories.holds(name, o):
			continue
		case o.Namespace == l.name.Namespace:
			namespace++
		}
		all++
	}
	for name := range l.memories.admitted {
		if !known[name] {
			delete(l.memories.admitted, name)
		}
	}
	return l.Most.Room(all, namespace)
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
