package job

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// memories hold what the process knows of each Workspace. All of it begins anew with a process.
type memories struct {
	mutex sync.Mutex
	all   map[types.NamespacedName]*knowledge
	// destroying is held while destroy runs are counted and begun.
	destroying sync.Mutex
	// admitting is held while Runs that hold a lock are counted and one more is admitted, and guards admitted: the fences
	// of Runs that were admitted, until the cache shows them.
	admitting sync.Mutex
	admitted  map[types.NamespacedName]int64
	// turns are those of Workspaces that wait for room; admitting guards them.
	turns map[types.NamespacedName]turn
}

// of returns the memory of a Workspace, which is a new one for a Workspace that was made anew.
func (m *memories) of(name types.NamespacedName, uid types.UID) *knowledge {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.all == nil {
		m.all = map[types.NamespacedName]*knowledge{}
	}
	if known := m.all[name]; known == nil || known.uid != uid {
		m.all[name] = &knowledge{uid: uid}
	}
	return m.all[name]
}

// forget drops the memory of a Workspace that is gone.
func (m *memories) forget(name types.NamespacedName) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.all, name)
}

// knowledge holds what the process knows of one Workspace. Only one reconcile has it at a time.
type knowledge struct {
	uid types.UID
	// listed reports that extent includes a list of the store.
	listed bool
	extent workspace.Extent
	// watch follows the renewals of the claim.
	watch job.Watch
	// related names the Service and the run whose outputs it has, since a time; unrelated tells why it does not have them.
	related, unrelated string
	relatedAt          time.Duration
	// over, missing and unclaimed are since when the attempt of a fence is over, not there, or not claimed.
	over, missing, unclaimed moment
	// ended is when Runs were first seen to have ended, by their UID.
	ended map[types.UID]time.Duration
}

// moment is since when something is so for a fence.
type moment struct {
	fence int64
	since time.Duration
}

// passed returns for how long it has been so, and begins to count if it was not.
func (m *moment) passed(fence int64, now time.Duration) time.Duration {
	if m.fence != fence {
		m.fence, m.since = fence, now
	}
	return now - m.since
}

// passedSince returns how long ago a Run was first seen to have ended.
func (m *knowledge) passedSince(run types.UID, now time.Duration) time.Duration {
	if m.ended == nil {
		m.ended = map[types.UID]time.Duration{}
	}
	first, known := m.ended[run]
	if !known {
		first, m.ended[run] = now, now
	}
	return now - first
}
