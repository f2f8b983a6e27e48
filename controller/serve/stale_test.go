package serve

import (
	"fmt"
	"testing"
	"testing/synctest"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// An agent keeps what it has while its view cannot be read, on the same stream, and receives the
// next view as soon as that can be read, also where nobody reports the change.
func TestAgentKeepsWhatItHas(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		ended := converse(ctx, r, a, "token-blog-1", nil)
		synctest.Wait()
		unreadable := fmt.Errorf("%w: cannot read application db", relation.ErrUnreadable)
		r.set(func() { r.unreadable, r.views["blog"] = unreadable, relation.View{Application: "blog"} })
		for range 10 {
			pass(retryView)
		}
		synctest.Wait()
		assert.Equal(t, []string{"one"}, a.hosts(), "nothing was sent")
		assert.Empty(t, ended)
		assert.InDelta(t, 11, r.looked(), 2, "it is tried again, and not too often")

		r.mu.Lock()
		r.unreadable, r.views["blog"] = nil, blog("two")
		r.mu.Unlock()
		pass(2 * retryView)
		synctest.Wait()
		assert.Equal(t, []string{"one", "two"}, a.hosts())
		looks := r.looked()
		pass(10 * retryView)
		assert.Equal(t, looks, r.looked(), "what can be read is not looked at again")
	})
}

// While a view cannot be read, an agent that has none connects again, and a unit whose agent has one
// writes as before.
func TestWhileAViewIsUnreadable(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r := s.t, s.ctx, s.r
		r.set(func() { r.unreadable = relation.ErrUnreadable })
		assert.Equal(t, connect.CodeUnavailable, connect.CodeOf(<-converse(ctx, r, newAgent(), "token-blog-1", nil)), "nothing was ever read")
		r.set(func() { r.unreadable = nil })
		ended := converse(ctx, r, s.a, "token-blog-1", nil)
		synctest.Wait()
		r.set(func() { r.unreadable = relation.ErrUnreadable })
		synctest.Wait()
		assert.Equal(t, connect.CodeUnavailable, connect.CodeOf(<-converse(ctx, r, newAgent(), "token-blog-1", nil)),
			"consent may have been withdrawn")
		ctx = r.as(ctx, "token-blog-1")
		_, err := r.server.Get(ctx, connect.NewRequest(&v1alpha1.GetRequest{}))
		require.Equal(t, connect.CodeUnavailable, connect.CodeOf(err))
		c, known, u, err := r.server.unit(ctx)
		require.NoError(t, err)
		defer c.leave()
		assert.True(t, u.known)
		_, err = known.writable("r-1")
		require.NoError(t, err, "its unit goes on to write")
		assert.Empty(t, ended)
	})
}
