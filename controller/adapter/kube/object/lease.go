package object

import (
	"context"
	"maps"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
)

// Leases has the leases of applications as this process has seen them, by its own clock. A nil Leases relies on the
// clocks of who has written them.
type Leases struct {
	mu   sync.Mutex
	seen map[client.ObjectKey]glimpse
	// most is how many there are before those that are not read any more are forgotten.
	most int
}

// glimpse is the lease of an application at a revision of its object.
type glimpse struct {
	leadership.Observation

	revision uint64
	at       time.Time
}

const (
	// fewLeases is how many leases are kept at least.
	fewLeases = 1024
	// idle is how long a lease is kept without being read: units that are about to lead ask more often.
	idle = 5 * time.Minute
)

// Read reads an application, and returns its lease as seen then.
func (l *Leases) Read(ctx context.Context, reader client.Reader, app *v1alpha1.RelatedApplication, now func() time.Time) (
	leadership.Observation, error) {
	requested := now()
	if err := reader.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
		return leadership.Observation{}, err
	}
	stored := convert.ToLeader(app)
	if l == nil {
		return leadership.Written(stored), nil
	}
	return l.note(app, now(), func(o leadership.Observation) leadership.Observation { return o.Seen(stored, requested, now()) }), nil
}

// Wrote notes the lease of an application that was written; began is when that began.
func (l *Leases) Wrote(app *v1alpha1.RelatedApplication, began, done time.Time) {
	if l != nil {
		l.note(app, done, func(o leadership.Observation) leadership.Observation {
			return o.Wrote(convert.ToLeader(app), began, done)
		})
	}
}

// note notes the lease in an object. Of one that is older than what was noted, nothing is known.
func (l *Leases) note(app *v1alpha1.RelatedApplication, now time.Time, seen func(leadership.Observation) leadership.Observation) (
	noted leadership.Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key, revision := client.ObjectKeyFromObject(app), Revision(app)
	before, known := l.seen[key]
	if revision < before.revision {
		before = glimpse{}
	}
	if !known && len(l.seen) >= max(l.most, fewLeases) {
		maps.DeleteFunc(l.seen, func(_ client.ObjectKey, g glimpse) bool { return now.Sub(g.at) > idle })
		l.most = 2 * len(l.seen)
	}
	if l.seen == nil {
		l.seen = map[client.ObjectKey]glimpse{}
	}
	after := glimpse{Observation: seen(before.Observation), revision: revision, at: now}
	l.seen[key] = after
	return after.Observation
}
