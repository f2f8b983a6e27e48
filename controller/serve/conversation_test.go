package serve

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// converse runs a conversation in the background; its end can be awaited.
func converse(ctx context.Context, r *replica, a *agent, token string, revisions map[string]uint64) <-chan error {
	ended := make(chan error, 1)
	go func() {
		c := conversation{server: r.server, bell: newBell()}
		defer c.leave()
		id, err := prover{r, nil}.review(ctx, token, false)
		if err == nil {
			err = c.join(ctx, id)
		}
		if err == nil {
			err = c.waitFor(ctx, revisions)
		}
		if err == nil {
			err = talkInPlace(ctx, r, &c, a)
		}
		ended <- err
	}()
	return ended
}

// talkInPlace talks as a stream that has a place in its replica.
func talkInPlace(ctx context.Context, r *replica, c *conversation, a *agent) error {
	place, free, err := r.server.Streams.enter(c.identity.Namespace)
	if err != nil {
		return err
	}
	defer free()
	return c.talk(ctx, a, a.requests, place.dismissed)
}

// scene is what a test in a bubble has: a clock of its own and a pod that is
// known.
type scene struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // the life of one test
	r   *replica
	a   *agent
}

func inBubble(t *testing.T, test func(s scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		r := newReplica()
		r.pod("blog-1")
		r.publish("one", 10)
		test(scene{t, ctx, r, newAgent()})
	})
}

// pass lets time pass, by the bubble's clock.
func pass(d time.Duration) { <-time.After(d) }

func assertNobodyListens(t *testing.T, r *replica) {
	t.Helper()
	synctest.Wait()
	assert.Empty(t, r.server.hub.audiences)
}

// SAFETY.md S4: the stream ends 2 s after its pod is gone, and not before.
func TestStreamEndsAfterItsPod(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		ended := converse(ctx, r, a, "token-blog-1", nil)
		synctest.Wait()
		began := time.Now()
		r.set(func() { delete(r.pods, "blog-1") })
		err := <-ended
		assert.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err))
		assert.Equal(t, 2*time.Second, time.Since(began))
		assertNobodyListens(t, r)
	})
}

// A pod of the same name that is another pod does not prolong the stream
// (SAFETY.md S4: by UID).
func TestSuccessorDoesNotInherit(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		ended := converse(ctx, r, a, "token-blog-1", nil)
		synctest.Wait()
		r.set(func() { r.pods["blog-1"] = pod{uid: "another", account: "default", application: "blog"} })
		assert.Equal(t, connect.CodePermissionDenied, connect.CodeOf(<-ended))
	})
}

func TestPodThatReturnsKeepsItsStream(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		ended := converse(ctx, r, a, "token-blog-1", nil)
		synctest.Wait()
		r.set(func() { delete(r.pods, "blog-1") })
		pass(time.Second)
		r.pod("blog-1")
		pass(time.Minute)
		assert.Empty(t, ended, "a relist that showed it late ends nothing")
	})
}

// While an owner goes before its pods (kubectl delete deployment), the pod lives.
func TestUnknownOwnerEndsNothing(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		ended := converse(ctx, r, a, "token-blog-1", nil)
		synctest.Wait()
		r.set(func() { r.pods["blog-1"] = pod{uid: "uid-blog-1", account: "default"} })
		pass(time.Minute)
		assert.Empty(t, ended)
	})
}

func TestPodOfAnotherApplicationBeginsAnew(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		ended := converse(ctx, r, a, "token-blog-1", nil)
		synctest.Wait()
		r.set(func() { r.pods["blog-1"] = pod{uid: "uid-blog-1", account: "default", application: "shop"} })
		assert.Equal(t, connect.CodeUnavailable, connect.CodeOf(<-ended))
	})
}

// A pod whose workload is ignored receives the reason, once, and nothing of the application
// whose name it claims; it begins anew when the name is free (SAFETY.md A1).
func TestIgnoredPodReceivesTheReason(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		const why = "StatefulSet blog exists but is ignored"
		r.set(func() {
			r.pods["blog-1"] = pod{uid: "uid-blog-1", account: "default", application: "blog", ignored: why}
		})
		ended := converse(ctx, r, a, "token-blog-1", map[string]uint64{"databags": 10})
		synctest.Wait()
		require.Len(t, a.heard, 1)
		heard := a.heard[0]
		assert.Equal(t, why, heard.GetUnit().GetIgnored())
		assert.False(t, heard.GetUnit().GetKnown())
		assert.Empty(t, heard.GetRelations())
		assert.Equal(t, uint64(10), heard.GetRevisions()["databags"], "the agent takes it for new")
		r.publish("two", 11)
		synctest.Wait()
		assert.Len(t, a.heard, 1, "nothing that is new to the application")
		_, err := r.server.caller(r.as(ctx, "token-blog-1"))
		assert.Equal(t, connect.CodeFailedPrecondition, connect.CodeOf(err), "it may write nothing, either")
		r.set(func() { r.pods["blog-1"] = pod{uid: "uid-blog-1", account: "default", application: "blog"} })
		assert.Equal(t, connect.CodeUnavailable, connect.CodeOf(<-ended), "the name is free: connect again")
	})
}

// SAFETY.md S4: a token counts until it expires.
func TestStreamEndsWithItsToken(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		r.server.Streams.Greatest = 24 * time.Hour
		began := time.Now()
		err := <-converse(ctx, r, a, "token-blog-1", nil)
		assert.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err))
		assert.Equal(t, time.Hour, time.Since(began))
	})
}

// SAFETY.md S4: renewed on the stream.
func TestRenewProlongs(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		r.server.Streams.Greatest = 24 * time.Hour
		began := time.Now()
		ended := converse(ctx, r, a, "token-blog-1", nil)
		pass(50 * time.Minute)
		r.set(func() {
			id := r.tokens["token-blog-1"]
			id.Expires = time.Now().Add(time.Hour)
			r.tokens["fresh"] = id
		})
		a.renew("fresh")
		err := <-ended
		assert.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err))
		assert.Equal(t, 110*time.Minute, time.Since(began))
	})
}

func TestRenewIsChecked(t *testing.T) {
	tests := map[string]struct {
		token string
		away  error
		want  connect.Code
	}{
		"AnothersToken": {token: "token-blog-2", want: connect.CodePermissionDenied},
		"Garbage":       {token: "garbage", want: connect.CodeUnauthenticated},
		"NoAnswer":      {token: "token-blog-1", away: errors.New("the API server is away"), want: connect.CodeUnavailable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(s scene) {
				t, ctx, r, a := s.t, s.ctx, s.r, s.a
				r.pod("blog-2")
				ended := converse(ctx, r, a, "token-blog-1", nil)
				synctest.Wait()
				r.set(func() { r.broken = test.away })
				a.renew(test.token)
				assert.Equal(t, test.want, connect.CodeOf(<-ended))
			})
		})
	}
}

// What a newer agent says is let pass (SAFETY.md D14).
func TestUnknownRequestsAreIgnored(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		ended := converse(ctx, r, a, "token-blog-1", nil)
		a.requests <- &v1alpha1.ConverseRequest{}
		synctest.Wait()
		assert.Empty(t, ended)
		close(a.requests)
		assert.NoError(t, <-ended, "the agent has gone")
	})
}

// SAFETY.md V4: a replica that is behind waits at most 1 s, then sends the agent
// away.
func TestReplicaThatIsBehind(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		began := time.Now()
		err := <-converse(ctx, r, a, "token-blog-1", map[string]uint64{"databags": 12})
		assert.Equal(t, connect.CodeUnavailable, connect.CodeOf(err))
		assert.ErrorContains(t, err, "databags", "it says of what")
		assert.Equal(t, time.Second, time.Since(began))
		assert.Empty(t, a.heard, "and nothing older was said")
	})
}

func TestReplicaThatCatchesUp(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		converse(ctx, r, a, "token-blog-1", map[string]uint64{"databags": 12})
		pass(500 * time.Millisecond)
		r.publish("two", 12)
		pass(100 * time.Millisecond)
		assert.Equal(t, []string{"two"}, a.hosts())
		assert.EqualValues(t, 12, a.last().GetRevisions()["databags"])
	})
}

// A replica whose watch was down while an object went has heard of less than it
// has: what it sends must not look older than what the agent used.
func TestSnapshotIsNeverOlderThanPromised(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		r.set(func() { r.caughtUp["databags"] = 30 })
		converse(ctx, r, a, "token-blog-1", map[string]uint64{"databags": 25, "relations": 0})
		synctest.Wait()
		assert.EqualValues(t, 25, a.last().GetRevisions()["databags"])
	})
}

// A telling that was made before the replica caught up is not for an agent that
// was promised more, although no change was announced yet (SAFETY.md V4).
func TestOldTellingIsNotPromised(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		converse(ctx, r, a, "token-blog-1", nil)
		synctest.Wait()
		r.mu.Lock() // the store has it, its handlers have not run
		r.views["blog"], r.caughtUp["databags"] = blog("two"), 12
		r.mu.Unlock()
		r.pod("other") // rings nobody of blog's telling
		second := newAgent()
		converse(ctx, r, second, "token-blog-1", map[string]uint64{"databags": 12})
		synctest.Wait()
		assert.Equal(t, []string{"two"}, second.hosts())
	})
}

// Who begins to ask while a transaction is being delivered waits for its end, and not
// for ever (SAFETY.md E11).
func TestDeliveryIsWaitedFor(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		r.set(func() { r.unsettled = true })
		ended := converse(ctx, r, a, "token-blog-1", nil)
		pass(300 * time.Millisecond)
		assert.Empty(t, a.hosts())
		r.set(func() { r.unsettled = false })
		synctest.Wait()
		assert.Empty(t, ended)
		assert.Equal(t, []string{"one"}, a.hosts())

		r.set(func() { r.unsettled = true })
		began, late := time.Now(), newAgent()
		r.server.hub.audiences[applicationTopic("shop", "blog")].last.telling = nil
		require.ErrorIs(t, <-converse(ctx, r, late, "token-blog-1", nil), relation.ErrUnsettled)
		assert.Equal(t, time.Second, time.Since(began))
	})
}

func TestYoungPodIsWaitedFor(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		r.set(func() { delete(r.pods, "blog-1") })
		ended := converse(ctx, r, a, "token-blog-1", nil)
		pass(300 * time.Millisecond)
		r.pod("blog-1")
		synctest.Wait()
		assert.Empty(t, ended)
		assert.Equal(t, []string{"one"}, a.hosts())
	})
}

func TestUnknownPodIsSentAway(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		r.set(func() { r.pods["blog-1"] = pod{uid: "another", account: "default", application: "blog"} })
		began := time.Now()
		err := <-converse(ctx, r, a, "token-blog-1", nil)
		assert.Equal(t, connect.CodeUnavailable, connect.CodeOf(err), "the API server knew it just now: another replica may")
		assert.Equal(t, time.Second, time.Since(began))
		assertNobodyListens(t, r)
	})
}

func TestForeignAccount(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		r.set(func() {
			id := r.tokens["token-blog-1"]
			id.Account = "somebody-else"
			r.tokens["token-blog-1"] = id
		})
		assert.Error(t, <-converse(ctx, r, a, "token-blog-1", nil))
		assert.Empty(t, a.heard)
	})
}

func TestSnapshotOnlyWhenSomethingChanged(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		converse(ctx, r, a, "token-blog-1", nil)
		synctest.Wait()
		require.Equal(t, []string{"one"}, a.hosts(), "at once")
		assert.EqualValues(t, 4, a.last().GetUnit().GetNumber())
		assert.True(t, a.last().GetUnit().GetKnown())

		r.publish("one", 11)
		synctest.Wait()
		assert.Len(t, a.hosts(), 1, "revisions alone are no news")

		r.publish("two", 12)
		synctest.Wait()
		assert.Equal(t, []string{"one", "two"}, a.hosts())
		assert.EqualValues(t, 12, a.last().GetRevisions()["databags"])

		r.set(func() { v := blog("two"); v.Units = nil; r.views["blog"] = v })
		synctest.Wait()
		assert.Len(t, a.hosts(), 3, "its own unit is news")
		assert.False(t, a.last().GetUnit().GetKnown())
	})
}

// A unit hears why it ends, also where it has gone for the others while its pod still
// ends, as when its workload went first; then it can say nothing more (SAFETY.md E14).
func TestUnitHearsOfItsOwnEnd(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		converse(ctx, r, a, "token-blog-1", nil)
		synctest.Wait()
		r.set(func() { v := blog("one"); v.Units[0].Leaving = application.GoneScaledDown; r.views["blog"] = v })
		synctest.Wait()
		assert.Equal(t, application.GoneScaledDown, a.last().GetUnit().GetLeaving())
		r.set(func() { v := blog("one"); v.Units[0].Gone = application.GoneApplication; r.views["blog"] = v })
		synctest.Wait()
		assert.Equal(t, application.GoneApplication, a.last().GetUnit().GetLeaving())
		assert.True(t, a.last().GetUnit().GetKnown(), "it knows who it is")
		c, err := r.server.caller(r.as(ctx, "token-blog-1"))
		require.NoError(t, err)
		defer c.leave()
		told, err := c.telling(ctx)
		require.NoError(t, err)
		assert.False(t, told.unit(c.identity.UID).known)
	})
}

// A pod that ends receives its deadline as soon as the replica knows it, also before its application shows why it ends
// (TRUST.md T2).
func TestPodReceivesItsDeadline(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		converse(ctx, r, a, "token-blog-1", nil)
		synctest.Wait()
		assert.Zero(t, a.last().GetUnit().GetDeadline())
		for _, grace := range []time.Duration{30 * time.Second, time.Second} {
			deadline := time.Now().Add(grace)
			r.set(func() { p := r.pods["blog-1"]; p.deadline = deadline; r.pods["blog-1"] = p })
			synctest.Wait()
			assert.Equal(t, deadline.Unix(), a.last().GetUnit().GetDeadline())
			assert.Empty(t, a.last().GetUnit().GetLeaving())
		}
		sent := len(a.hosts())
		r.set(func() {})
		synctest.Wait()
		assert.Len(t, a.hosts(), sent, "once")
	})
}

func TestBrokenConnectionEndsTheConversation(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		ended := converse(ctx, r, a, "token-blog-1", nil)
		synctest.Wait()
		a.mu.Lock()
		a.unwell = true
		a.mu.Unlock()
		r.publish("two", 11)
		assert.Error(t, <-ended)
	})
}

// A thousand units of an application cost one look for a change.
func TestUnitsShareATelling(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r := s.t, s.ctx, s.r
		var agents []*agent
		for range 1000 {
			a := newAgent()
			agents = append(agents, a)
			converse(ctx, r, a, "token-blog-1", nil)
		}
		synctest.Wait()
		before := r.looked()
		r.publish("two", 11)
		synctest.Wait()
		for _, a := range agents {
			require.Equal(t, "two", a.hosts()[len(a.hosts())-1])
		}
		assert.LessOrEqual(t, r.looked()-before, 2)
	})
}

func TestReviewTellsWrongFromAway(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		assert.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(<-converse(ctx, r, a, "garbage", nil)))
		r.set(func() { r.broken = errors.New("the API server is away") })
		err := <-converse(ctx, r, a, "token-blog-1", nil)
		assert.Equal(t, connect.CodeUnavailable, connect.CodeOf(err))
		assert.NotErrorIs(t, err, identity.ErrToken)
	})
}
