package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/golang/glog"
	"google.golang.org/protobuf/proto"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// conversation is one stream: whose it is, and what was said last.
type conversation struct {
	server      *Server
	bell        *bell
	identity    kube.Identity
	application string
	leaving     []func()
	sent        *v1alpha1.Snapshot
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
	c.leaving = append(c.leaving, c.server.hub.join(podTopic(id.Namespace, id.Pod), c.bell))
	deadline := time.NewTimer(catchUp)
	defer deadline.Stop()
	for {
		application, ok := c.server.World.Pod(ctx, id.Namespace, id.Pod, id.UID, id.Account)
		if ok {
			c.application = application
			c.leaving = append(c.leaving, c.server.hub.join(applicationTopic(id.Namespace, application), c.bell))
			return nil
		}
		select {
		case <-c.bell.rung:
		case <-deadline.C:
			c.leave()
			return connect.NewError(connect.CodeUnavailable, fmt.Errorf("pod %s/%s is not known here yet, or its owner is not", id.Namespace, id.Pod))
		case <-ctx.Done():
			c.leave()
			return ctx.Err()
		}
	}
}

func (c *conversation) review(ctx context.Context, token string) error {
	id, err := c.server.Reviewer.Review(ctx, token)
	switch {
	case errors.Is(err, kube.ErrToken):
		return connect.NewError(connect.CodeUnauthenticated, err)
	case err != nil:
		return connect.NewError(connect.CodeUnavailable, err)
	case c.identity.UID != "" && (id.UID != c.identity.UID || id.Account != c.identity.Account):
		return connect.NewError(connect.CodePermissionDenied, errors.New("the new token is another pod's"))
	}
	c.identity = id
	return nil
}

// waitFor waits until this replica has seen what the agent has (SAFETY.md V4).
func (c *conversation) waitFor(ctx context.Context, revisions map[string]uint64) error {
	ctx, cancel := context.WithTimeout(ctx, catchUp)
	defer cancel()
	tick := time.NewTicker(catchUp / 20)
	defer tick.Stop()
	for {
		behind := behindIn(c.server.World.Revisions(), revisions)
		if behind == "" {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return connect.NewError(connect.CodeUnavailable, fmt.Errorf("this replica has seen less of %s than you have: ask another", behind))
		}
	}
}

// behindIn returns a kind of which have is older than want; empty if none is.
func behindIn(have, want map[string]uint64) string {
	for kind, revision := range want {
		if have[kind] < revision {
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
func (c *conversation) talk(ctx context.Context, stream sender, renewed <-chan string) error {
	expires := time.NewTimer(time.Until(c.identity.Expires))
	defer expires.Stop()
	var gone <-chan time.Time
	for {
		if err := c.say(ctx, stream); err != nil {
			return err
		}
		if gone == nil && !c.podLives(ctx) {
			gone = time.After(afterPod)
		}
		select {
		case <-c.bell.rung:
		case token := <-renewed:
			if err := c.review(ctx, token); err != nil {
				return err
			}
			expires.Reset(time.Until(c.identity.Expires))
		case <-gone:
			return connect.NewError(connect.CodePermissionDenied, fmt.Errorf("pod %s/%s is gone", c.identity.Namespace, c.identity.Pod))
		case <-expires.C:
			return connect.NewError(connect.CodeUnauthenticated, errors.New("the token has expired and was not renewed"))
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *conversation) podLives(ctx context.Context) bool {
	id := c.identity
	_, ok := c.server.World.Pod(ctx, id.Namespace, id.Pod, id.UID, id.Account)
	return ok
}

// say sends the present snapshot, unless nothing in it differs from the last.
func (c *conversation) say(ctx context.Context, stream sender) error {
	next, err := c.snapshot(ctx)
	if err != nil {
		return err
	}
	if c.sent != nil && sameBut(c.sent, next) {
		return nil
	}
	if err := stream.Send(&v1alpha1.ConverseResponse{Snapshot: next}); err != nil {
		return err
	}
	c.sent = next
	snapshots.Inc()
	glog.V(2).Infof("told pod %s/%s of %d relation(s)", c.identity.Namespace, c.identity.Pod, len(next.GetRelations()))
	return nil
}

// sameBut reports whether two snapshots say the same, revisions aside.
func sameBut(a, b *v1alpha1.Snapshot) bool {
	kept := b.GetRevisions()
	b.Revisions = a.GetRevisions()
	same := proto.Equal(a, b)
	b.Revisions = kept
	return same
}

// snapshot is what the pod may know now. The revisions are read first: what is
// read after them is at least as new.
func (c *conversation) snapshot(ctx context.Context) (*v1alpha1.Snapshot, error) {
	revisions := c.server.World.Revisions()
	view, err := c.server.World.View(ctx, c.identity.Namespace, c.application)
	if err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	return toSnapshot(view, c.identity, revisions), nil
}
