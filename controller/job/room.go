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
		held := holds(o)
		if fence, unseen := l.memories.admitted[name]; unseen && (o.State == nil || o.State.Fence < fence) {
			held = true
		} else {
			delete(l.memories.admitted, name)
		}
		if held {
			all++
			if o.Namespace == l.name.Namespace {
				namespace++
			}
		}
	}
	for name := range l.memories.admitted {
		if !known[name] {
			delete(l.memories.admitted, name)
		}
	}
	return l.Most.Room(all, namespace)
}

// holds reports whether a Run holds the lock of a Workspace, and no person must decide about it.
func holds(o *v1alpha1.JobWorkspace) bool {
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
