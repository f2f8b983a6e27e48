package serve

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/golang/glog"
	"google.golang.org/protobuf/proto"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// telling holds what all units of an application receive. It is made once for a change, however many
// streams there are, and never altered.
type telling struct {
	// change is the change that it was made after.
	change uint64
	// caughtUp was read before the view, which is at least as new; revisions were
	// read after it, so that nothing in it is newer. An agent has used revisions,
	// and a replica that serves it next must have caught up to them (SAFETY.md V4).
	caughtUp, revisions map[string]uint64
	// content is for all units, and private for each alone, by its number. Each is the same
	// pointer as long as it is equal: a unit without news receives nothing, however much is new to
	// others.
	content *content
	private map[int64]*private
	// bags has the contents of the databags, which have their versions alone in content and private.
	bags domain.Bags
	// units are those of the application by the UIDs of their pods.
	units map[string]unit
	// relations are the application's, by UID.
	relations map[string]relation.Seen
	// stale is set while a newer one cannot be made: streams that have it keep it, and no other
	// agent receives it, since consent may be withdrawn by now (SAFETY.md M7).
	stale bool
}

// content is the part of a snapshot that units share.
type content struct {
	relations []*v1alpha1.Relation
	waiting   []*v1alpha1.Waiting
}

// private is the part of a snapshot for one unit: its own bags, and the secrets that it knows.
type private struct {
	own     []*v1alpha1.Own
	secrets []*v1alpha1.KnownSecret
}

// lastTelling is the telling that streams share.
type lastTelling struct {
	mu      sync.Mutex
	telling *telling
	failed  failure
}

// retryView is the pause before a view that failed is made again, unless something changes.
const retryView = 5 * time.Second

// failure is why no telling could be made after a change.
type failure struct {
	err    error
	change uint64
	until  time.Time
}

// lasts reports whether another attempt is useless yet.
func (f failure) lasts(change uint64) bool {
	return f.err != nil && f.change == change && time.Now().Before(f.until)
}

// get returns the present telling of an application. Streams that call it at the same time wait for one of
// them to make it. newerThan are revisions that a stream has been promised (SAFETY.md V4).
func (a *audience) get(ctx context.Context, world World, namespace, application string, newerThan map[string]uint64) (*telling, error) {
	a.last.mu.Lock()
	defer a.last.mu.Unlock()
	last := a.last.telling
	if last != nil && last.change == a.changes.Load() && behindIn(last.caughtUp, newerThan) == "" {
		return last, nil
	}
	change := a.changes.Load()
	if a.last.failed.lasts(change) {
		return a.last.kept(newerThan)
	}
	next, err := newTelling(ctx, world, namespace, application, change)
	switch {
	case errors.Is(err, relation.ErrUnsettled) && last != nil && behindIn(last.caughtUp, newerThan) == "":
		return last, nil // what kept it from being read is a change, which wakes all
	case errors.Is(err, relation.ErrUnreadable):
		a.last.fail(namespace, application, failure{err, change, time.Now().Add(retryView)})
		return a.last.kept(newerThan)
	case err != nil:
		return nil, err
	case last != nil:
		next.keep(last)
	}
	a.last.telling, a.last.failed = next, failure{}
	return next, nil
}

// newTelling returns what all units of an application may know after a change.
func newTelling(ctx context.Context, world World, namespace, application string, change uint64) (*telling, error) {
	t := &telling{change: change, caughtUp: world.CaughtUp()}
	view, err := world.View(ctx, namespace, application)
	if err != nil {
		return nil, err
	}
	t.revisions = world.Revisions()
	t.take(view)
	return t, t.takeSecrets(ctx, world, namespace, view)
}

// fail notes that no telling could be made, and logs each cause once.
func (l *lastTelling) fail(namespace, application string, f failure) {
	if l.failed.err == nil || l.failed.err.Error() != f.err.Error() {
		glog.Warningf("the agents of application %s in namespace %s keep what they have: %v", application, namespace, f.err)
	}
	l.failed = f
}

// kept returns the last telling as a stale one, or why there is none.
func (l *lastTelling) kept(newerThan map[string]uint64) (*telling, error) {
	if l.telling == nil || behindIn(l.telling.caughtUp, newerThan) != "" {
		return nil, l.failed.err
	}
	kept := *l.telling
	kept.stale = true
	return &kept, nil
}

// keep takes the parts of the last telling that are equal.
func (t *telling) keep(last *telling) {
	if last.content.same(t.content) {
		t.content = last.content
	}
	for number, mine := range t.private {
		if before := last.private[number]; before != nil && before.same(mine) {
			t.private[number] = before
		}
	}
}

// mine returns the private part of one unit.
func (t *telling) mine(number int64) *private {
	if t.private[number] == nil {
		t.private[number] = &private{}
	}
	return t.private[number]
}

// take maps a view to the wire.
func (t *telling) take(view relation.View) {
	shared, versions := view.Shared(""), domain.BagMap{}
	t.bags, t.content, t.private, t.units = shared, &content{}, map[int64]*private{}, make(map[string]unit, len(view.Units))
	t.relations = make(map[string]relation.Seen, len(view.Relations))
	for _, u := range view.Units {
		t.units[u.PodUID] = unit{number: int64(u.Number), known: u.Gone == "", leaving: cmp.Or(u.Gone, u.Leaving), returns: u.Returns}
	}
	for _, r := range view.Relations {
		t.relations[r.UID] = r
	}
	for _, r := range shared.Relations {
		t.content.relations = append(t.content.relations, convert.ForRelation(r, versions))
	}
	for _, w := range shared.Waiting {
		t.content.waiting = append(t.content.waiting, convert.ForWaiting(w))
	}
	for number, own := range view.Owns() {
		mine := t.mine(int64(number))
		for _, side := range own.Sides {
			mine.own = append(mine.own, convert.ForSide(side, versions))
		}
	}
}

func (c *content) same(d *content) bool {
	return slices.EqualFunc(c.relations, d.relations, func(a, b *v1alpha1.Relation) bool { return proto.Equal(a, b) }) &&
		slices.EqualFunc(c.waiting, d.waiting, func(a, b *v1alpha1.Waiting) bool { return proto.Equal(a, b) })
}

func (p *private) same(q *private) bool {
	return slices.EqualFunc(p.own, q.own, func(a, b *v1alpha1.Own) bool { return proto.Equal(a, b) }) &&
		slices.EqualFunc(p.secrets, q.secrets, func(a, b *v1alpha1.KnownSecret) bool { return proto.Equal(a, b) })
}
