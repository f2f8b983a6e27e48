package serve

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
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
	// content is the same pointer as long as it says the same.
	content *content
	// numbers maps the UID of a pod to its unit's number.
	numbers map[string]int64
	// places maps the UID of a relation to where the application writes in it.
	places map[string]place
}

// place is where an application writes in a relation.
type place struct {
	// name and home are the relation's object and its namespace, endpoint the
	// application's own.
	name, home, endpoint string
	// there is the other end's namespace, remote its application as this side names it,
	// and self how that side names this one.
	there, remote, self string
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
	// own are the bags of each unit, by its number, for it alone, and secrets are what
	// it is told of secrets.
	own     map[int64][]*v1alpha1.Own
	secrets map[int64][]*v1alpha1.KnownSecret
}

// lastTelling is the telling that streams share.
type lastTelling struct {
	mu      sync.Mutex
	telling *telling
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
	next := &telling{change: a.changes.Load(), caughtUp: world.CaughtUp()}
	secrets, err := world.Secrets(ctx, namespace, application)
	if err != nil {
		return nil, err
	}
	view, err := world.View(ctx, namespace, application)
	if errors.Is(err, kube.ErrUnsettled) && last != nil && behindIn(last.caughtUp, newerThan) == "" {
		return last, nil // the end of the delivery is a change, which wakes all
	}
	if err != nil {
		return nil, err
	}
	next.revisions = world.Revisions()
	next.take(view)
	next.takeSecrets(view, secrets)
	if last != nil && last.content.same(next.content) {
		next.content = last.content
	}
	a.last.telling = next
	return next, nil
}

// take writes a view as the wire has it.
func (t *telling) take(view relation.View) {
	t.content, t.numbers = &content{own: map[int64][]*v1alpha1.Own{}}, make(map[string]int64, len(view.Units))
	t.places = make(map[string]place, len(view.Relations))
	for _, u := range view.Units {
		if u.Gone == "" {
			t.numbers[u.PodUID] = int64(u.Number)
		}
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
		name: r.Name, home: r.Requirer.Namespace, endpoint: r.Here.Endpoint, there: r.There.Namespace, remote: r.Remote(), self: r.Self(),
		opened: !r.Abroad() || r.State.Offer != "", suspended: !r.Open(), ended: !r.Alive(),
		ours: r.Unit(r.Here, 0).Application, theirs: r.Unit(r.There, 0).Application,
		role: r.Role, iface: r.Interface, version: r.Version,
	}
}

// takeOwn writes what each unit may read of its own side (RELATIONS.md P).
func (t *telling) takeOwn(r relation.Seen, leader domain.Leader) {
	for _, unit := range r.Own {
		own := &v1alpha1.Own{Relation: r.UID, Bag: toBag(unit.Bag)}
		if r.Role == application.Peer || leader.Term > 0 && leader.Unit == unit.Number {
			own.Application = toBag(r.OwnBag)
		}
		number := int64(unit.Number)
		t.content.own[number] = append(t.content.own[number], own)
	}
}

func (c *content) same(d *content) bool {
	return c.sameSecrets(d) && maps.EqualFunc(c.own, d.own, func(x, y []*v1alpha1.Own) bool {
		return slices.EqualFunc(x, y, func(a, b *v1alpha1.Own) bool { return proto.Equal(a, b) })
	}) && slices.EqualFunc(c.relations, d.relations, func(a, b *v1alpha1.Relation) bool { return proto.Equal(a, b) }) &&
		slices.EqualFunc(c.waiting, d.waiting, func(a, b *v1alpha1.Waiting) bool { return proto.Equal(a, b) })
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
