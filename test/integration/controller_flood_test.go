package integration

import (
	"fmt"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/identity"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// TRUST.md U3: a flood of tokens that the API server did not issue costs it no review, by its real keys, and agents are
// served meanwhile. A refused token of a pod that has gone is reviewed once. SAFETY.md S4: the token of a scheduled pod
// is bound to its node, and counts there.
func TestControllerIsFlooded(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(w.provider("db", "db.example.org"), w.consumer("web", consumes("db:db", "db")))
	pod := w.podOf("web")
	require.NoError(t, w.cluster.Client(t).CoreV1().Pods(w.namespace).Bind(w.ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "flood-node"},
	}, metav1.CreateOptions{}))
	good := w.token(pod, identity.Audience)
	hears(t, w.agent(c, good), "its relation", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 1 })

	reviewed := c.reviewed.Load()
	var all sync.WaitGroup
	for i := range 8 {
		stranger := &speaker{}
		stranger.turnTo(t, c)
		all.Go(func() {
			for j := range 50 {
				stranger := *stranger
				stranger.token = fmt.Sprintf("%s%03d%05d", good[:len(good)-8], i, j)
				_, err := stranger.api.Commit(w.ctx, asking(&stranger, &wire.CommitRequest{}))
				assert.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%v", err)
			}
		})
	}
	all.Wait()
	assert.Equal(t, reviewed, c.reviewed.Load(), "reviews of 400 tokens that the API server did not issue")
	hears(t, w.agent(c, good), "its relation again", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 1 })

	unbound := &speaker{token: w.token(nil, identity.Audience)}
	unbound.turnTo(t, c)
	reviewed = c.reviewed.Load()
	for range 20 {
		_, err := unbound.api.Get(w.ctx, asking(unbound, &wire.GetRequest{}))
		assert.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err))
	}
	assert.Equal(t, reviewed+1, c.reviewed.Load(), "a token of no pod is reviewed once")
	assert.Zero(t, c.refused.Load(), "the roles allow what the controller does")
}
