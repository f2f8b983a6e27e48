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
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// conversation is one stream: whose it is, and what was said last.
type conversation struct {
	server   *Server
	bell     *bell
	identity identity.Identity
	// Membership is the last known membership of the pod.
	identity.Membership
	// refused is set once the agent has received that.
	refused  bool
	audience *audience
	leaving  []func()
	floor    floor
	pieces   pieces
	said     said
}

// said is the last sent state: the content, the private part, as unit, and the pod's deadline.
type said struct {
	*content
	private  *private
	unit     unit
	deadline time.Time
}

// floor is the lowest state that an agent may be sent.
type floor struct {
	// revisions are those that the agent has used (SAFETY.md V4).
	revisions map[string]uint64
	// wentBack is set if the agent has used later ones of a store that was restored since.
	wentBack bool
}

// unit is the pod as its application knows it.
type unit struct {
	number int64
	// known says that it has a number and is not gone.
	known bool
	// leaving is why it ends, or is gone already while its pod still ends, as where its
	// workload went first.
	leaving string
	// returns says that its pod ends and another one takes its place.
	returns bool
}

func (c *conversation) leave() {
	for _, f := range c.leaving {
		f()
	}
}

// join finds the application of the pod that calls. A pod that the informers do not show
// yet is waited for: it is often younger than they are.
func (c *conversation) join(ctx context.Context, id identity.Identity) error {
	c.identity = id
	_, leave := c.server.hub.join(podTopic(id.Namespace, id.Pod), c.bell)
	c.leaving = append(c.leaving, leave)
	known := c.await(ctx, func() bool {
		c.Membership = c.server.Identities.Membership(ctx, id)
		return c.Application != ""
	})
	if !known {
		return connect.NewError(connect.CodeUnavailable, fmt.Errorf("pod %s/%s or its application is not known here yet", id.Namespace, id.Pod))
	}
	c.audience, leave = c.server.hub.join(applicationTopic(id.Namespace, c.Application), c.bell)
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

// waitFor waits until this replica has seen what the agent has (SAFETY.md V4).
func (c *conversation) waitFor(ctx context.Context, revisions map[string]uint64) error {
	began := time.Now()
	c.floor.revisions = revisions
	behind := ""
	caughtUp := c.await(ctx, func() bool {
		behind = behindIn(c.server.World.CaughtUp(), revisions)
		return behind == ""
	})
	if !caughtUp {
		c.floor = c.server.read.floor(ctx, c.server.World, c.server.Live, began, revisions)
	}
	if !caughtUp && !c.floor.wentBack {
		return connect.NewError(connect.CodeUnavailable, fmt.Errorf("this replica is behind in %s: connect to another one", behind))
	}
	return nil
}

// behindIn returns a kind for which have is older than want; empty if none is. An unknown kind is from a newer
// controller, and is ignored.
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
// its token ends, its pod has been gone for a while, or it is dismissed.
func (c *conversation) talk(
	ctx context.Context, stream sender, heard <-chan *v1alpha1.ConverseRequest, dismissed <-chan error,
) error {
	expires := time.NewTimer(time.Until(c.identity.Expires))
	defer expires.Stop()
	var gone <-chan time.Time
	for {
		lives, err := c.checkPod(ctx)
		if err == nil {
			err = c.say(ctx, stream)
		}
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
		case why := <-dismissed:
			return why
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
	if err := c.server.Budgets.Pace(ctx, c.identity, relationsv1alpha1connect.RelationsServiceConverseProcedure); err != nil {
		return err
	}
	id, err := prover{c.server.Identities, c.server.Budgets}.review(ctx, renew.GetToken(), true)
	switch {
	case err != nil:
		return err
	case !id.Same(c.identity):
		return connect.NewError(connect.CodePermissionDenied, errors.New("the new token belongs to another pod"))
	}
	c.identity = id
	expires.Reset(time.Until(c.identity.Expires))
	return nil
}

// checkPod reports whether the pod still lives, and stores its deadline. A pod that has become a unit of
// another application must begin anew.
func (c *conversation) checkPod(ctx context.Context) (lives bool, err error) {
	id := c.identity
	m := c.server.Identities.Membership(ctx, id)
	if m.Application != "" && (m.Application != c.Application || m.Ignored != c.Ignored) {
		return m.Lives, connect.NewError(connect.CodeUnavailable,
			fmt.Errorf("pod %s/%s belongs to application %s now: connect again", id.Namespace, id.Pod, m.Application))
	}
	if m.Lives {
		c.Deadline = m.Deadline
	}
	return m.Lives, nil
}

// telling returns what the pod's application may know now, as soon as it can be read.
func (c *conversation) telling(ctx context.Context) (t *telling, err error) {
	c.await(ctx, func() bool {
		t, err = c.audience.get(ctx, c.server.World, c.identity.Namespace, c.Application, c.floor.revisions)
		return !errors.Is(err, relation.ErrUnsettled)
	})
	if err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	return t, nil
}

// say sends the present snapshot, unless nothing in it differs from the last.
func (c *conversation) say(ctx context.Context, stream sender) error {
	if c.Ignored != "" {
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
	next := said{t.content, t.privateTo(u), u, c.Deadline.UTC()}
	if c.said == next {
		return nil
	}
	snapshot := c.snapshot(t)
	if err := c.pieces.sendIn(ctx, &c.server.Streams.rooms, c.identity, stream, snapshot, t.bags); err != nil {
		reportOutdated(ctx, c.server.Statuses, c.speaker(0), err)
		return err
	}
	if c.said.content == nil { // the first is at the cost of its pod, which opened the stream; others are of those that write
		c.server.Budgets.Charge(c.identity, relationsv1alpha1connect.RelationsServiceConverseProcedure, c.pieces.sent)
	}
	c.said = next
	snapshots.Inc()
	glog.V(2).Infof("sent %d relation(s) to pod %s/%s", len(snapshot.GetRelations()), c.identity.Namespace, c.identity.Pod)
	return nil
}

// reportOutdated reports for an agent that it is too old for a snapshot, if that is why it was not sent.
func reportOutdated(ctx context.Context, to Statuses, by status.Reporter, why error) {
	if !errors.Is(why, errOutdated) {
		return
	}
	if err := to.ReportOutdated(ctx, by); err != nil {
		glog.Warningf("cannot report that the agent of pod %s in namespace %s is outdated: %v", by.PodUID, by.Namespace, err)
	}
}

// errStale reports that there is no view to send.
var errStale = errors.New("what the view needs cannot be read: see the conditions of the objects in the namespace")

// keep lets the agent keep what it has, and has that tried again. An agent that has nothing
// connects again.
func (c *conversation) keep() error {
	if c.said.content == nil {
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
	unit := convert.ForUnit(domain.View{Namespace: c.identity.Namespace}, domain.Own{Ignored: c.Ignored})
	revisions := atLeast(c.floor.revisions, c.server.World.Revisions())
	return c.pieces.send(stream, &v1alpha1.Snapshot{Revisions: revisions, Unit: unit}, nil)
}

func (t *telling) unit(uid string) unit { return t.units[uid] }

// privateTo returns the private part of one unit; nil for nothing, and while the pod has no unit yet.
func (t *telling) privateTo(u unit) *private {
	if !u.known {
		return nil
	}
	return t.private[u.number]
}

// atLeast returns revisions that are never lower than a floor, the revisions that the agent has used: this replica
// has caught up to them.
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

// snapshot returns the pod's present knowledge, with the versions of databags.
func (c *conversation) snapshot(t *telling) *v1alpha1.Snapshot {
	u := t.unit(c.identity.UID)
	snapshot := &v1alpha1.Snapshot{
		Revisions: atLeast(c.floor.revisions, t.revisions),
		Unit: convert.ForUnit(domain.View{Application: c.Application, Namespace: c.identity.Namespace},
			domain.Own{
				Number: int(u.number), Known: u.known || u.leaving != "", Leaving: domain.Reason(u.leaving), Returns: u.returns,
				Deadline: c.Deadline,
			}),
		Relations: t.content.relations,
		Waiting:   t.content.waiting,
		WentBack:  c.floor.wentBack && c.said.content == nil,
	}
	if mine := t.privateTo(u); mine != nil {
		snapshot.Own, snapshot.Secrets = mine.own, mine.secrets
	}
	return snapshot
}
