package serve

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
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
}

// content is the part of a snapshot that units share.
type content struct {
	relations []*v1alpha1.Relation
	waiting   []*v1alpha1.Waiting
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
	view, err := world.View(ctx, namespace, application)
	if err != nil {
		return nil, err
	}
	next.revisions = world.Revisions()
	next.take(view)
	if last != nil && last.content.same(next.content) {
		next.content = last.content
	}
	a.last.telling = next
	return next, nil
}

// take writes a view as the wire has it.
func (t *telling) take(view relation.View) {
	t.content, t.numbers = &content{}, make(map[string]int64, len(view.Units))
	for _, u := range view.Units {
		if u.Gone == "" {
			t.numbers[u.PodUID] = int64(u.Number)
		}
	}
	for _, r := range view.Relations {
		t.content.relations = append(t.content.relations, toRelation(r))
	}
	for _, w := range view.Waiting {
		t.content.waiting = append(t.content.waiting, &v1alpha1.Waiting{Endpoint: w.Endpoint, Reason: w.Reason, Message: w.Message})
	}
}

func (c *content) same(d *content) bool {
	return slices.EqualFunc(c.relations, d.relations, func(a, b *v1alpha1.Relation) bool { return proto.Equal(a, b) }) &&
		slices.EqualFunc(c.waiting, d.waiting, func(a, b *v1alpha1.Waiting) bool { return proto.Equal(a, b) })
}

func toRelation(r relation.Seen) *v1alpha1.Relation {
	return &v1alpha1.Relation{
		Id: int64(r.State.ID), Uid: r.UID, Endpoint: r.Requirer.Endpoint,
		Interface: r.Interface, InterfaceVersion: int64(r.Version),
		RemoteApplication: r.Provider.Application, RemoteNamespace: r.Provider.Namespace, RemoteEndpoint: r.Provider.Endpoint,
		Bag:      &v1alpha1.Databag{Data: r.Bag, Version: databag.Version(r.Bag)},
		Complete: r.Complete, Reason: r.Reason, Message: r.Message,
		Held: r.Held(), Ended: !r.Alive(),
	}
}
