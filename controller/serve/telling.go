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

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// telling is what all units of an application are told. It is made once for a
// change, however many streams there are, and never altered.
type telling struct {
	// change is the change that it was made after.
	change uint64
	// caughtUp was read before the view, which is at least as new; revisions were
	// read after it, so that nothing in it is newer. An agent has used revisions,
	// and whoever serves it next must have caught up to them (SAFETY.md V4).
	caughtUp, revisions map[string]uint64
	// content is what all units are told, and private what each is told alone, by its
	// number. Each is the same pointer as long as it says the same: who is told nothing
	// new is sent nothing, however much is new to others.
	content *content
	private map[int64]*private
	// units are those of the application by the UIDs of their pods.
	units map[string]unit
	// places maps the UID of a relation to where the application writes in it.
	places map[string]place
	// stale is set while a newer one cannot be made: streams that have it keep it, and no other
	// agent receives it, since consent may be withdrawn by now (SAFETY.md M7).
	stale bool
}

// place is where an application writes in a relation.
type place struct {
	// name and home are the relation's object and its namespace, endpoint the
	// application's own.
	name, home, endpoint string
	// there is the other end, remote its application as this side names it, and self how
	// that side names this one.
	there        relation.End
	remote, self string
	// opened says that the sides may see each other, or could before; suspended that
	// they may again, ended that they will not.
	opened, suspended, ended bool
	// ours and theirs are how the relation's state names the two applications.
	ours, theirs string
	// role is the application's part, iface and version what both sides agreed on.
	role    application.Role
	iface   string
	version int
}

// content is the part of a snapshot that units share.
type content struct {
	relations []*v1alpha1.Relation
	waiting   []*v1alpha1.Waiting
}

// private is the part of a snapshot that is for one unit: its own bags, and what it is
// told of secrets.
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

// retryView is how long after a view failed it is tried again, unless something changes.
const retryView = 5 * time.Second

// failure is why no telling could be made after a change.
type failure struct {
	err    error
	change uint64
	until  time.Time
}

// lasts reports whether trying again is of no use yet.
func (f failure) lasts(change uint64) bool {
	return f.err != nil && f.change == change && time.Now().Before(f.until)
}

// get returns the present telling of an application. Streams that ask at the
// same time wait for one of them to make it. newerThan are revisions that a
// stream has been promised (SAFETY.md V4).
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
		return last, nil // the end of the delivery is a change, which wakes all
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

// keep keeps of the last telling what says the same.
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

// mine is what is written for one unit.
func (t *telling) mine(number int64) *private {
	if t.private[number] == nil {
		t.private[number] = &private{}
	}
	return t.private[number]
}

// take writes a view as the wire has it.
func (t *telling) take(view relation.View) {
	t.content, t.private, t.units = &content{}, map[int64]*private{}, make(map[string]unit, len(view.Units))
	t.places = make(map[string]place, len(view.Relations))
	for _, u := range view.Units {
		t.units[u.PodUID] = unit{int64(u.Number), u.Gone == "", cmp.Or(u.Gone, u.Leaving)}
	}
	for _, r := range view.Relations {
		t.content.relations = append(t.content.relations, toRelation(r))
		t.places[r.UID] = placeOf(r)
		t.takeOwn(r, view.Leader)
	}
	for _, w := range view.Waiting {
		t.content.waiting = append(t.content.waiting, &v1alpha1.Waiting{Endpoint: w.Endpoint, Reason: w.Reason, Message: w.Message})
	}
}

func placeOf(r relation.Seen) place {
	return place{
		name: r.Name, home: r.Requirer.Namespace, endpoint: r.Here.Endpoint, there: r.There, remote: r.Remote(), self: r.Self(),
		opened: !r.Abroad() || r.State.Offer != "", suspended: !r.Open(), ended: !r.Alive(),
		ours: r.Unit(r.Here, 0).Application, theirs: r.Unit(r.There, 0).Application,
		role: r.Role, iface: r.Interface, version: r.Version,
	}
}

// takeOwn writes what each unit may read of its own side (RELATIONS.md P).
func (t *telling) takeOwn(r relation.Seen, leader leadership.Leader) {
	for _, unit := range r.Own {
		own := &v1alpha1.Own{Relation: r.UID, Bag: toBag(unit.Bag)}
		if r.Role == application.Peer || leader.Term > 0 && leader.Unit == unit.Number {
			own.Application, own.ApplicationWriter = toBag(r.OwnBag), r.OwnWriter
		}
		mine := t.mine(int64(unit.Number))
		mine.own = append(mine.own, own)
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

func toRelation(r relation.Seen) *v1alpha1.Relation {
	out := &v1alpha1.Relation{
		Id: int64(r.State.ID), Uid: r.UID, Endpoint: r.Here.Endpoint, Role: string(r.Role),
		Interface: r.Interface, InterfaceVersion: int64(r.Version),
		RemoteApplication: r.There.Application, RemoteNamespace: r.There.Namespace, RemoteEndpoint: r.There.Endpoint,
		Bag:      toBag(r.Bag),
		Complete: r.Complete, Reason: r.Reason, Message: r.Message,
		Held: r.Held(), Ended: !r.Alive(), Suspended: !r.Open(),
	}
	if r.Granted.ID != "" {
		out.Granted = &v1alpha1.GrantedSecret{Id: r.Granted.ID, Revision: int64(r.Granted.Revision)}
	}
	for _, u := range r.Units {
		out.Units = append(out.Units, &v1alpha1.RemoteUnit{Number: int64(u.Number), Bag: toBag(u.Bag)})
	}
	for _, u := range r.Departed {
		departed := &v1alpha1.DepartedUnit{Number: int64(u.Unit.Number), Reason: string(u.Reason), Bag: toBag(u.Bag), Since: u.Since.Unix(), Inherited: u.Inherited()}
		for _, unit := range u.Owed {
			departed.Owed = append(departed.Owed, int64(unit.Number))
		}
		out.Departed = append(out.Departed, departed)
	}
	return out
}

func toBag(data map[string]string) *v1alpha1.Databag {
	return &v1alpha1.Databag{Data: data, Version: databag.Version(data)}
}
