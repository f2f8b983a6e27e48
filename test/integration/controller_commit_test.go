package integration

import (
	"context"
	"strconv"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/identity"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// speaker is a pod that speaks to the relations API.
type speaker struct {
	pod    *corev1.Pod
	token  string
	api    relationsv1alpha1connect.RelationsServiceClient
	stream *agentStream
}

// speaker opens a stream of a Deployment's pod, which gets an address as on a
// node.
func (w *controllerWorld) speaker(c *controllerReplica, deployment, address string) *speaker {
	w.t.Helper()
	return w.speakerOf(c, w.podOf(deployment), address)
}

// speakerOf opens a stream of a pod.
func (w *controllerWorld) speakerOf(c *controllerReplica, pod *corev1.Pod, address string) *speaker {
	w.t.Helper()
	w.addressed(pod, address)
	s := &speaker{pod: pod, token: w.token(pod, identity.Audience)}
	s.turnTo(w.t, c)
	s.stream = w.agent(c, s.token)
	return s
}

// addressed gives a pod an address.
func (w *controllerWorld) addressed(pod *corev1.Pod, address string) {
	w.t.Helper()
	before := pod.DeepCopy()
	pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
	require.NoError(w.t, w.admin.Status().Patch(w.ctx, pod, client.MergeFrom(before)))
}

// turnTo asks another controller from now on.
func (s *speaker) turnTo(t *testing.T, c *controllerReplica) {
	t.Helper()
	s.api = relationsv1alpha1connect.NewRelationsServiceClient(c.client(t), c.api.URL)
}

func asking[T any](s *speaker, message *T) *connect.Request[T] {
	req := connect.NewRequest(message)
	req.Header().Set("Authorization", "Bearer "+s.token)
	return req
}

func (s *speaker) commit(ctx context.Context, term int64, changes ...*wire.Change) error {
	_, err := s.api.Commit(ctx, asking(s, &wire.CommitRequest{Term: term, Changes: changes}))
	return err
}

func change(relation string, application bool, key, value string) *wire.Change {
	return &wire.Change{Relation: relation, Application: application, Set: map[string]string{key: value}}
}

// An agent hears of its relation before the node has reported its pod's address, and has
// no part in it: its unit comes with its address (RELATIONS.md L2).
func TestControllerTellsAUnitItsAddress(t *testing.T) {
	t.Parallel()
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(w.consumer("db", map[string]string{application.KeyProvides: "main:pg"}), w.consumer("web", consumes("store:pg", "db")))
	pod := w.podOf("db")
	stream := w.agent(c, w.token(pod, identity.Audience))
	early := hears(t, stream, "its relation", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 1 })
	assert.Empty(t, early.GetOwn())
	w.speakerOf(c, pod, "10.9.0.2")
	known := hears(t, stream, "its unit", func(s *wire.Snapshot) bool { return len(s.GetOwn()) == 1 })
	assert.Equal(t, "10.9.0.2", known.GetOwn()[0].GetBag().GetData()["ingress-address"])
}

// A shop asks for a database and is answered, both ways, through the real API
// server: bags of units and of applications, the leader, and who may not
// (RELATIONS.md P, SAFETY.md P1, E11).
func TestControllerCarriesAConversation(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(w.consumer("db", map[string]string{application.KeyProvides: "main:pg"}), w.consumer("web", consumes("store:pg", "db")))
	web, db := w.speaker(c, "web", "10.9.0.1"), w.speaker(c, "db", "10.9.0.2")

	asked := hears(t, web.stream, "its relation and the other's unit", func(s *wire.Snapshot) bool {
		return len(s.GetRelations()) == 1 && len(s.GetRelations()[0].GetUnits()) == 1 && len(s.GetOwn()) == 1
	}).GetRelations()[0]
	assert.Equal(t, "requires", asked.GetRole())
	assert.Equal(t, "10.9.0.2", asked.GetUnits()[0].GetBag().GetData()["ingress-address"], "RELATIONS.md L2")
	assert.False(t, asked.GetComplete())

	t.Log("the shop's unit says something, and its leader asks for a database")
	began := time.Now()
	lead, err := web.api.Lead(w.ctx, asking(web, &wire.LeadRequest{}))
	require.NoError(t, err)
	require.True(t, lead.Msg.GetLeads())
	assert.LessOrEqual(t, lead.Msg.GetLeftMs(), int64(60_000))
	assert.GreaterOrEqual(t, lead.Msg.GetLeftMs(), 60_000-time.Since(began).Milliseconds()-1)
	uid := asked.GetUid()
	require.NoError(t, web.commit(w.ctx, lead.Msg.GetTerm(), change(uid, true, "database", "orders"), change(uid, false, "version", "9")))
	heard := hears(t, db.stream, "the question, whole", func(s *wire.Snapshot) bool {
		return len(s.GetRelations()) == 1 && len(s.GetRelations()[0].GetUnits()) == 1 && s.GetRelations()[0].GetBag().GetData()["database"] == "orders"
	}).GetRelations()[0]
	assert.Equal(t, "provides", heard.GetRole())
	assert.Equal(t, "9", heard.GetUnits()[0].GetBag().GetData()["version"], "both bags of the transaction, or none")

	t.Log("the database answers, and the shop's gate may open")
	leadDB, err := db.api.Lead(w.ctx, asking(db, &wire.LeadRequest{}))
	require.NoError(t, err)
	began = time.Now()
	require.NoError(t, db.commit(w.ctx, leadDB.Msg.GetTerm(), change(uid, true, "username", "orders-1")))
	answered := hears(t, web.stream, "the answer", func(s *wire.Snapshot) bool {
		return len(s.GetRelations()) == 1 && s.GetRelations()[0].GetBag().GetData()["username"] == "orders-1" && s.GetRelations()[0].GetComplete()
	})
	t.Logf("from the commit to the other side's snapshot: %s", time.Since(began).Round(time.Millisecond))
	assert.Equal(t, "orders", answered.GetOwn()[0].GetApplication().GetData()["database"], "its leader reads what its application said")

	t.Log("who may not, each with its own error (RELATIONS.md P4)")
	code := func(err error) connect.Code { return connect.CodeOf(err) }
	assert.Equal(t, connect.CodePermissionDenied, code(web.commit(w.ctx, 99, change(uid, true, "database", "x"))), "a term that is not its own")
	assert.Equal(t, connect.CodeNotFound, code(web.commit(w.ctx, 1, change("00000000-0000-0000-0000-000000000000", false, "a", "b"))), "a relation of others")
	assert.Equal(t, connect.CodeInvalidArgument, code(web.commit(w.ctx, 0, change(uid, false, "a", string(make([]byte, 65<<10))))), "RELATIONS.md P6")
	foreign := &speaker{token: db.token[:len(db.token)-4] + "AAAA", api: db.api}
	assert.Equal(t, connect.CodeUnauthenticated, code(foreign.commit(w.ctx, 1, change(uid, true, "username", "evil"))))
	_, err = db.api.Lead(w.ctx, asking(db, &wire.LeadRequest{Resign: true}))
	require.NoError(t, err)
	assert.Equal(t, connect.CodePermissionDenied, code(db.commit(w.ctx, leadDB.Msg.GetTerm(), change(uid, true, "username", "late"))), "a deposed leader's late write")

	t.Log("the relation's end takes its bags with it")
	r := w.relations()["db"]
	require.NoError(t, w.admin.Delete(w.ctx, &r))
	w.eventually("no bag of the relation is left", func() bool {
		var bags v1alpha1.DatabagList
		require.NoError(t, w.admin.List(w.ctx, &bags, client.InNamespace(w.namespace)))
		for _, b := range bags.Items {
			if b.Spec.Relation == uid {
				return false
			}
		}
		return true
	})
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
	require.NoError(t, w.admin.Delete(w.ctx, db.pod, client.GracePeriodSeconds(0)))
}

// Who wrote the application's bag among peers is told with it, to whoever leads then: a
// deposed leader that was never shown its own write does not hear of it as news
// (RELATIONS.md E8).
func TestControllerTellsPeersWhoWrote(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(w.consumer("ring", map[string]string{application.KeyPeers: "members:gossip"}))
	ring := w.speaker(c, "ring", "10.9.0.1")
	own := hears(t, ring.stream, "its peer relation", func(s *wire.Snapshot) bool { return len(s.GetOwn()) == 1 }).GetOwn()[0]
	assert.Empty(t, own.GetApplicationWriter(), "nobody has written")

	lead, err := ring.api.Lead(w.ctx, asking(ring, &wire.LeadRequest{}))
	require.NoError(t, err)
	for name, more := range map[string][]*wire.Change{"one bag": nil, "two bags": {change(own.GetRelation(), false, "ready", "yes")}} {
		require.NoError(t, ring.commit(w.ctx, lead.Msg.GetTerm(), append(more, change(own.GetRelation(), true, "primary", name))...))
		_, err = ring.api.Lead(w.ctx, asking(ring, &wire.LeadRequest{Resign: true}))
		require.NoError(t, err)
		shown := hears(t, ring.stream, "what it wrote in "+name, func(s *wire.Snapshot) bool {
			return len(s.GetOwn()) == 1 && s.GetOwn()[0].GetApplication().GetData()["primary"] == name
		})
		assert.Equal(t, strconv.FormatInt(shown.GetUnit().GetNumber(), 10), shown.GetOwn()[0].GetApplicationWriter(), name)
		lead, err = ring.api.Lead(w.ctx, asking(ring, &wire.LeadRequest{}))
		require.NoError(t, err)
	}
}
