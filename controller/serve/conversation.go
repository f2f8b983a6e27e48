package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"connectrpc.com/connect"
	"github.com/golang/glog"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// conversation is one stream: whose it is, and what was said last.
type conversation struct {
	server      *Server
	bell        *bell
	identity    identity.Identity
	application string
	// ignored is why the pod's workload takes part in nothing; empty if it takes part.
	ignored string
	// refused is set once the agent has received that.
	refused  bool
	audience *audience
	leaving  []func()
	// floor are the revisions that the agent has used (SAFETY.md V4).
	floor map[string]uint64
	// said is the content that was sent last, with what was private, as unit.
	said    *content
	private *private
	unit    unit
}

// unit is the pod as its application knows it.
type unit struct {
	number int64
	// known says that it has a number and is not gone.
	known bool
	// leaving is why it ends, or is gone already while its pod still ends, as where its
	// workload went first.
	leaving string
}

func (c *conversation) leave() {
	for _, f := range c.leaving {
		f()
	}
}

// identify finds out whose stream this is. A pod that the informers do not show
// yet is waited for: it is often younger than they are.
func (c *conversation) identify(ctx context.Context, token string) error {
	if err := c.review(ctx, token); err != nil {
		return err
	}
	id := c.identity
	_, leave := c.server.hub.join(podTopic(id.Namespace, id.Pod), c.bell)
	c.leaving = append(c.leaving, leave)
	known := c.await(ctx, func() bool {
		m := c.server.Identities.Membership(ctx, id)
		c.application, c.ignored = m.Application, m.Ignored
		return c.application != ""
	})
	if !known {
		return connect.NewError(connect.CodeUnavailable, fmt.Errorf("pod %s/%s or its application is not known here yet", id.Namespace, id.Pod))
	}
	c.audience, leave = c.server.hub.join(applicationTopic(id.Namespace, c.application), c.bell)
	c.leaving = append(c.leaving, leave)
	return nil
}

// await waits until done, for as long as caches may take to catch up.
func (c *conversation) await(ctx context.Context, done func() bool) bool {
	deadline := time.NewTimer(catchUp)
	defer deadline.Stop()
	tick := time.NewTicker(catchUp / 20)
	defer tick.Stop()
	for {
		if done() {
			return true
		}
		select {
		case <-c.bell.rung:
		case <-tick.C:
		case <-deadline.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (c *conversation) review(ctx context.Context, token string) error {
	id, err := c.server.Identities.Review(ctx, token)
	switch {
	case errors.Is(err, identity.ErrToken):
		return connect.NewError(connect.CodeUnauthenticated, err)
	case err != nil:
		return connect.NewError(connect.CodeUnavailable, err)
	case c.identity.UID != "" && (id.UID != c.identity.UID || id.Account != c.identity.Account):
		return connect.NewError(connect.CodePermissionDenied, errors.New("the new token belongs to another pod"))
	}
	c.identity = id
	return nil
}

// waitFor waits until this replica has seen what the agent has (SAFETY.md V4).
func (c *conversation) waitFor(ctx context.Context, revisions map[string]uint64) error {
	c.floor = revisions
	behind := ""
	caughtUp := c.await(ctx, func() bool {
		behind = behindIn(c.server.World.CaughtUp(), revisions)
		return behind == ""
	})
	if !caughtUp {
		return connect.NewError(connect.CodeUnavailable, fmt.Errorf("this replica is behind in %s: connect to another one", behind))
	}
	return nil
}

// behindIn returns a kind of which have is older than want; empty if none is. A kind
// that is not known here is from a newer controller, and nothing is said of it.
func behindIn(have, want map[string]uint64) string {
	for kind, revision := range want {
		if at, known := have[kind]; known && at < revision {
			return kind
		}
	}
	return ""
}

// sender is the half of a stream that talk needs.
type sender interface {
	Send(response *v1alpha1.ConverseResponse) error
}

// talk sends a snapshot at once and after each change, until the agent goes,
// its token ends or its pod has been gone for a while.
func (c *conversation) talk(ctx context.Context, stream sender, heard <-chan *v1alpha1.ConverseRequest) error {
	expires := time.NewTimer(time.Until(c.identity.Expires))
	defer expires.Stop()
	var gone <-chan time.Time
	for {
		if err := c.say(ctx, stream); err != nil {
			return err
		}
		lives, err := c.checkPod(ctx)
		switch {
		case err != nil:
			return err
		case lives:
			gone = nil
		case gone == nil:
			gone = time.After(afterPod)
		}
		select {
		case <-c.bell.rung:
		case request, ok := <-heard:
			if !ok {
				return nil // the agent has gone
			}
			if err := c.renew(ctx, request.GetRenew(), expires); err != nil {
				return err
			}
		case <-gone:
			return connect.NewError(connect.CodePermissionDenied, fmt.Errorf("pod %s/%s is gone", c.identity.Namespace, c.identity.Pod))
		case <-expires.C:
			return connect.NewError(connect.CodeUnauthenticated, errors.New("the token has expired"))
		case <-ctx.Done():
			return nil
		}
	}
}

// renew takes a new token of the same pod.
func (c *conversation) renew(ctx context.Context, renew *v1alpha1.Renew, expires *time.Timer) error {
	if renew == nil {
		return nil // said by a newer agent
	}
	if err := c.review(ctx, renew.GetToken()); err != nil {
		return err
	}
	expires.Reset(time.Until(c.identity.Expires))
	return nil
}

// checkPod tells whether the pod still lives. A pod that has become a unit of
// another application must begin anew.
func (c *conversation) checkPod(ctx context.Context) (lives bool, err error) {
	id := c.identity
	m := c.server.Identities.Membership(ctx, id)
	if m.Application != "" && (m.Application != c.application || m.Ignored != c.ignored) {
		return m.Lives, connect.NewError(connect.CodeUnavailable,
			fmt.Errorf("pod %s/%s belongs to application %s now: connect again", id.Namespace, id.Pod, m.Application))
	}
	return m.Lives, nil
}

// telling is what the pod's application may know now. The end of a transaction that
// is being delivered is waited for.
func (c *conversation) telling(ctx context.Context) (t *telling, err error) {
	c.await(ctx, func() bool {
		t, err = c.audience.get(ctx, c.server.World, c.identity.Namespace, c.application, c.floor)
		return !errors.Is(err, relation.ErrUnsettled)
	})
	if err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	return t, nil
}

// say sends the present snapshot, unless nothing in it differs from the last.
func (c *conversation) say(ctx context.Context, stream sender) error {
	if c.ignored != "" {
		return c.refuse(stream)
	}
	t, err := c.telling(ctx)
	if err != nil {
		return err
	}
	if t.stale {
		return c.keep()
	}
	u := t.unit(c.identity.UID)
	if c.said == t.content && c.private == t.privateTo(u) && c.unit == u {
		return nil
	}
	snapshot := c.snapshot(t)
	if err := stream.Send(&v1alpha1.ConverseResponse{Snapshot: snapshot}); err != nil {
		return err
	}
	c.said, c.private, c.unit = t.content, t.privateTo(u), u
	snapshots.Inc()
	glog.V(2).Infof("sent %d relation(s) to pod %s/%s", len(snapshot.GetRelations()), c.identity.Namespace, c.identity.Pod)
	return nil
}

// errStale reports that there is no view to send.
var errStale = errors.New("what the view needs cannot be read: see the conditions of the objects in the namespace")

// keep lets the agent keep what it has, and has that tried again. An agent that has nothing
// connects again.
func (c *conversation) keep() error {
	if c.said == nil {
		return connect.NewError(connect.CodeUnavailable, errStale)
	}
	c.bell.ringIn(retryView)
	return nil
}

// refuse sends why the pod's workload is ignored, once. Nothing of the application is in
// it: that belongs to another.
func (c *conversation) refuse(stream sender) error {
	if c.refused {
		return nil
	}
	c.refused = true
	unit := convert.ForUnit(domain.View{Namespace: c.identity.Namespace}, domain.Own{Ignored: c.ignored})
	return stream.Send(&v1alpha1.ConverseResponse{Snapshot: &v1alpha1.Snapshot{Revisions: atLeast(c.floor, c.server.World.Revisions()),
		Unit: unit}})
}

func (t *telling) unit(uid string) unit { return t.units[uid] }

// privateTo is what one unit is told alone; nil for nothing, and while the pod is no
// unit yet.
func (t *telling) privateTo(u unit) *private {
	if !u.known {
		return nil
	}
	return t.private[u.number]
}

// atLeast returns revisions that are never lower than a floor, which is what the agent
// has used: this replica has caught up to that.
func atLeast(floor, seen map[string]uint64) map[string]uint64 {
	revisions := maps.Clone(floor)
	if revisions == nil {
		revisions = map[string]uint64{}
	}
	for kind, revision := range seen {
		revisions[kind] = max(revisions[kind], revision)
	}
	return revisions
}

// snapshot is what the pod may know now.
func (c *conversation) snapshot(t *telling) *v1alpha1.Snapshot {
	u := t.unit(c.identity.UID)
	snapshot := &v1alpha1.Snapshot{
		Revisions: atLeast(c.floor, t.revisions),
		Unit: convert.ForUnit(domain.View{Application: c.application, Namespace: c.identity.Namespace},
			domain.Own{Number: int(u.number), Known: u.known || u.leaving != "", Leaving: domain.Reason(u.leaving)}),
		Relations: t.content.relations,
		Waiting:   t.content.waiting,
	}
	if mine := t.privateTo(u); mine != nil {
		snapshot.Own, snapshot.Secrets = mine.own, mine.secrets
	}
	return snapshot
}
