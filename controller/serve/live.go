package serve

import (
	"context"
	"sync"
	"time"

	"github.com/golang/glog"
)

// StoreRevisions reads the store.
type StoreRevisions interface {
	// Revisions returns the present revision of the store for each kind that views show.
	Revisions(ctx context.Context) (map[string]uint64, error)
}

// lookEvery is the shortest pause between two reads of the store's revisions.
const lookEvery = 200 * time.Millisecond

// lastRead has the last revisions of the store that were read. Agents that connect at once share a read.
type lastRead struct {
	mu        sync.Mutex
	began     time.Time
	revisions map[string]uint64
}

// since returns revisions that were read after a time.
func (l *lastRead) since(ctx context.Context, store StoreRevisions, after time.Time) (map[string]uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.began.After(after) {
		return l.revisions, nil
	}
	select {
	case <-time.After(time.Until(l.began.Add(lookEvery))):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	began := time.Now()
	revisions, err := store.Revisions(ctx)
	if err == nil {
		l.began, l.revisions = began, revisions
	}
	return revisions, err
}

// floor returns what an agent may be sent at least that has used later revisions than this replica knows. If the store
// itself has earlier ones, read after the agent connected, it was restored, and they are the floor. A replica whose own
// caches are later than the store is as deaf as the agent (TRUST.md T6).
func (l *lastRead) floor(ctx context.Context, world World, live StoreRevisions, connected time.Time, used map[string]uint64) floor {
	if live == nil {
		return floor{revisions: used}
	}
	own := world.CaughtUp()
	store, err := l.since(ctx, live, connected)
	if err != nil {
		glog.Warningf("cannot find out whether the store was restored: %v", err)
		return floor{revisions: used}
	}
	if behindIn(store, used) == "" || behindIn(store, own) != "" {
		return floor{revisions: used}
	}
	return floor{world.Revisions(), true}
}
