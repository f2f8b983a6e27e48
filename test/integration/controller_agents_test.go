package integration

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/identity"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
)

// podsOf waits for so many pods of a Deployment.
func (w *controllerWorld) podsOf(name string, many int) []corev1.Pod {
	w.t.Helper()
	var list corev1.PodList
	w.eventually("the pods of "+name, func() bool {
		require.NoError(w.t, w.admin.List(w.ctx, &list, client.InNamespace(w.namespace), client.MatchingLabels{"app": name}))
		return len(list.Items) >= many
	})
	return list.Items
}

// podOf waits for the first pod of a Deployment.
func (w *controllerWorld) podOf(name string) *corev1.Pod {
	w.t.Helper()
	return &w.podsOf(name, 1)[0]
}

// token asks for a token as the kubelet does for a projected volume; a nil pod
// binds it to nothing.
func (w *controllerWorld) token(pod *corev1.Pod, audience string) string {
	w.t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}
	account := "default"
	if pod != nil {
		account = pod.Spec.ServiceAccountName
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}
	}
	made, err := w.cluster.Client(w.t).CoreV1().ServiceAccounts(w.namespace).CreateToken(w.ctx, account, request, metav1.CreateOptions{})
	require.NoError(w.t, err)
	return made.Status.Token
}

type agentStream = connect.BidiStreamForClient[wire.ConverseRequest, wire.ConverseResponse]

// agent opens a stream to a replica in this process.
func (w *controllerWorld) agent(r *controllerReplica, token string) *agentStream {
	w.t.Helper()
	return w.openStream(r.client(w.t), r.api.URL, &wire.Hello{Token: token}, 2*soon)
}

// hears waits for a snapshot that the test wants.
func hears(t *testing.T, s *agentStream, what string, wanted func(*wire.Snapshot) bool) *wire.Snapshot {
	t.Helper()
	for {
		message, err := s.Receive()
		require.NoError(t, err, what)
		if snapshot := message.GetSnapshot(); wanted(snapshot) {
			return snapshot
		}
	}
}

func hostIs(host string) func(*wire.Snapshot) bool {
	return func(s *wire.Snapshot) bool {
		return len(s.GetRelations()) == 1 && s.GetRelations()[0].GetBag().GetData()["host"] == host && s.GetRelations()[0].GetComplete()
	}
}

// The whole way of a provider's data to a pod, with a real token of a real pod.
func TestControllerServesAgents(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	db := w.provider("db-endpoint", "db.tengu.io")
	w.create(w.consumer("sleep", consumes("db", "db-endpoint")))
	pod := w.podOf("sleep")
	s := w.agent(c, w.token(pod, identity.Audience))
	waiting := hears(t, s, "why it waits", func(s *wire.Snapshot) bool { return len(s.GetWaiting()) == 1 })
	assert.Equal(t, "sleep", waiting.GetUnit().GetApplication())
	assert.Equal(t, "NoApplication", waiting.GetWaiting()[0].GetReason())

	w.create(db)
	began := time.Now()
	first := hears(t, s, "the data", hostIs("db.tengu.io"))
	t.Logf("from the provider's creation to the snapshot: %s", time.Since(began).Round(time.Millisecond))
	assert.NotZero(t, first.GetRevisions()["databags"], "SAFETY.md V4")

	for _, host := range []string{"db2.tengu.io", "db3.tengu.io", "db4.tengu.io"} {
		w.change(db, func() { db.Spec.ExternalName = host })
		began = time.Now()
		hears(t, s, "the change", hostIs(host))
		t.Logf("from the provider's change to the snapshot: %s", time.Since(began).Round(time.Millisecond))
	}

	t.Log("an ended relation is a tombstone (SAFETY.md E13)")
	r := w.relations()["db-endpoint"]
	require.NoError(t, w.admin.Delete(w.ctx, &r))
	hears(t, s, "the end", func(s *wire.Snapshot) bool {
		return len(s.GetRelations()) > 0 && s.GetRelations()[0].GetUid() == r.State.Identity && s.GetRelations()[0].GetEnded()
	})

	t.Log("SAFETY.md S4: renewed by its own token, ended by its pod")
	reviewed := c.reviewed.Load()
	require.NoError(t, s.Send(&wire.ConverseRequest{Message: &wire.ConverseRequest_Renew{Renew: &wire.Renew{Token: w.token(pod, identity.Audience)}}}))
	w.eventually("the new token is reviewed while its pod lives", func() bool { return c.reviewed.Load() > reviewed })
	require.NoError(t, w.admin.Delete(w.ctx, pod))
	began = time.Now()
	var err error
	for err == nil {
		_, err = s.Receive()
	}
	assert.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "%v", err)
	t.Logf("from the pod's deletion to the stream's end: %s", time.Since(began).Round(10*time.Millisecond))
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
}

// SAFETY.md S4, each with a token that the real API server made or refuses.
func TestControllerRefusesStrangers(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(w.provider("db-endpoint", "db.tengu.io"), w.consumer("sleep", consumes("db", "db-endpoint")), w.consumer("other", consumes("db", "db-endpoint")))
	pod, other := w.podOf("sleep"), w.podOf("other")
	good := w.token(pod, identity.Audience)
	refused := func(token string) connect.Code {
		_, err := w.agent(c, token).Receive()
		return connect.CodeOf(err)
	}
	assert.Equal(t, connect.CodeUnauthenticated, refused(w.token(pod, "https://kubernetes.default.svc")), "wrong audience")
	assert.Equal(t, connect.CodeUnauthenticated, refused(w.token(nil, identity.Audience)), "bound to no pod")
	assert.Equal(t, connect.CodeUnauthenticated, refused(good[:len(good)-4]+"AAAA"), "wrong signature")
	assert.Equal(t, connect.CodeUnauthenticated, refused(""), "no token")

	s := w.agent(c, good)
	hears(t, s, "the data", hostIs("db.tengu.io"))
	require.NoError(t, s.Send(&wire.ConverseRequest{Message: &wire.ConverseRequest_Renew{Renew: &wire.Renew{Token: w.token(other, identity.Audience)}}}))
	var err error
	for err == nil {
		_, err = s.Receive()
	}
	assert.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "another pod's token: %v", err)

	require.NoError(t, w.admin.Delete(w.ctx, pod))
	w.eventually("a deleted pod's token is worth nothing", func() bool { return refused(good) == connect.CodeUnauthenticated })
}

// People with curl (DESIGN.md decision 1).
func TestControllerAnswersCurl(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(w.provider("db-endpoint", "db.tengu.io"), w.consumer("sleep", consumes("db", "db-endpoint")))
	w.becomes("db-endpoint", "Complete")
	token := w.token(w.podOf("sleep"), identity.Audience)
	req, err := http.NewRequestWithContext(w.ctx, http.MethodPost, c.api.URL+relationsv1alpha1connect.RelationsServiceGetProcedure, bytes.NewReader([]byte("{}")))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	w.eventually("an answer with the data", func() bool {
		again := req.Clone(w.ctx)
		again.Body = io.NopCloser(bytes.NewReader([]byte("{}")))
		res, err := c.api.Client().Do(again)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode == http.StatusOK && bytes.Contains(text, []byte(`"host":"db.tengu.io"`))
	})
}
