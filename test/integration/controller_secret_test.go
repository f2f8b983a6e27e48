package integration

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/secrets"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

const (
	ordersSecret = "9m4e2mr0ui3e8a215n4g"
	dbPassword   = "hunter2-of-orders"
	dbRotated    = "hunter3-of-orders"
)

// leads has a unit lead its application, once the lease of another one is over, and returns the term.
func (w *controllerWorld) leads(s *speaker) (term int64) {
	w.t.Helper()
	w.eventually("the unit leads", func() bool {
		answered, err := s.api.Lead(w.ctx, asking(s, &wire.LeadRequest{}))
		if connect.CodeOf(err) == connect.CodeUnavailable { // its pod has no number yet, or leaders change
			return false
		}
		require.NoError(w.t, err)
		term = answered.Msg.GetTerm()
		return answered.Msg.GetLeads()
	})
	return term
}

// secrets commits writes of secrets, and perhaps of bags.
func (w *controllerWorld) secrets(s *speaker, term int64, changes []*wire.Change, writes ...*wire.SecretWrite) error {
	_, err := s.api.Commit(w.ctx, asking(s, &wire.CommitRequest{Term: term, Changes: changes, Secrets: writes}))
	return err
}

// get reads a password as secret-get does.
func (w *controllerWorld) get(s *speaker, request *wire.GetSecretRequest) (string, error) {
	answered, err := s.api.GetSecret(w.ctx, asking(s, request))
	if err != nil {
		return "", err
	}
	return string(answered.Msg.GetContent()["password"]), nil
}

func adding(password string) *wire.SecretWrite {
	return &wire.SecretWrite{Kind: "add", Id: ordersSecret, Content: map[string][]byte{"password": []byte(password)}}
}

func setting(password string) *wire.SecretWrite {
	return &wire.SecretWrite{Kind: "set", Id: ordersSecret, Content: map[string][]byte{"password": []byte(password)}}
}

func granting(relation string) *wire.SecretWrite {
	return &wire.SecretWrite{Kind: "grant", Id: ordersSecret, Access: &wire.SecretAccess{Relation: relation}}
}

// assertOnlyInSecrets looks for values where they must not be: in any object of
// Orcon's and in Events (SAFETY.md S2).
func (w *controllerWorld) assertOnlyInSecrets(values ...string) {
	w.t.Helper()
	for _, list := range []client.ObjectList{&v1alpha1.RelationList{}, &v1alpha1.RelatedApplicationList{}, &v1alpha1.DatabagList{}, &v1alpha1.RelatedSecretList{}, &corev1.EventList{}, &corev1.ConfigMapList{}} {
		require.NoError(w.t, w.admin.List(w.ctx, list, client.InNamespace(w.namespace)))
		text, err := json.Marshal(list)
		require.NoError(w.t, err)
		for _, value := range values {
			assert.NotContains(w.t, string(text), value, "%T", list)
		}
	}
}

// kept is the content that lies in the namespace's Secrets, all of them Orcon's.
func (w *controllerWorld) kept() string {
	var list corev1.SecretList
	require.NoError(w.t, w.admin.List(w.ctx, &list, client.InNamespace(w.namespace)))
	var all []string
	for _, s := range list.Items {
		assert.Contains(w.t, secrets.ContentSecrets(), s.Name)
		for _, value := range s.Data {
			all = append(all, string(value))
		}
	}
	return strings.Join(all, " ")
}

// A database answers a shop with a secret: made, granted and referred to in one
// transaction, read by the other pod alone, rotated, taken back and removed, through
// the real API server and with the controller's own roles (RELATIONS.md P5, E11,
// SAFETY.md S2).
func TestControllerKeepsSecrets(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(w.consumer("db", map[string]string{application.KeyProvides: "main:pg"}), w.consumer("web", consumes("store:pg", "db")), w.consumer("cms", consumes("store:pg", "db")))
	web, db, cms := w.speaker(c, "web", "10.9.0.1"), w.speaker(c, "db", "10.9.0.2"), w.speaker(c, "cms", "10.9.0.3")
	uid := hears(t, web.stream, "its relation", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 1 }).GetRelations()[0].GetUid()
	hears(t, db.stream, "both relations", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 2 && s.GetUnit().GetKnown() })
	hears(t, cms.stream, "its relation", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 1 && s.GetUnit().GetKnown() })
	term := w.leads(db)

	t.Log("made, granted and referred to in one transaction")
	reference := []*wire.Change{change(uid, true, "password", "secret:"+ordersSecret)}
	require.NoError(t, w.secrets(db, term, reference, adding(dbPassword), granting(uid)))
	hears(t, web.stream, "the reference", func(s *wire.Snapshot) bool {
		return len(s.GetRelations()) == 1 && s.GetRelations()[0].GetBag().GetData()["password"] == "secret:"+ordersSecret
	})
	password, err := w.get(web, &wire.GetSecretRequest{Id: ordersSecret, Label: "orders"})
	require.NoError(t, err, "whoever sees the reference may read")
	assert.Equal(t, dbPassword, password)

	t.Log("a new revision, for whoever asks for it")
	require.NoError(t, w.secrets(db, term, nil, setting(dbRotated)))
	hears(t, web.stream, "that there is one, so that its handler does", func(s *wire.Snapshot) bool {
		return len(s.GetSecrets()) == 1 && s.GetSecrets()[0].GetLabel() == "orders" && s.GetSecrets()[0].GetKept() == 1 && s.GetSecrets()[0].GetLatest() == 2
	})
	hears(t, db.stream, "of what its leader cares for", func(s *wire.Snapshot) bool {
		return len(s.GetSecrets()) == 1 && s.GetSecrets()[0].GetId() == ordersSecret && s.GetSecrets()[0].GetKept() == 0
	})
	others, err := cms.api.Get(w.ctx, asking(cms, &wire.GetRequest{}))
	require.NoError(t, err)
	assert.Empty(t, others.Msg.GetSnapshot().GetSecrets(), "who does not read it hears nothing of it")
	for _, step := range []struct {
		request *wire.GetSecretRequest
		want    string
	}{
		{&wire.GetSecretRequest{Label: "orders"}, dbPassword},
		{&wire.GetSecretRequest{Id: ordersSecret, Peek: true}, dbRotated},
		{&wire.GetSecretRequest{Id: ordersSecret}, dbPassword},
		{&wire.GetSecretRequest{Id: ordersSecret, Refresh: true}, dbRotated},
		{&wire.GetSecretRequest{Label: "orders"}, dbRotated},
	} {
		password, err := w.get(web, step.request)
		require.NoError(t, err)
		assert.Equal(t, step.want, password)
	}
	assert.Equal(t, dbRotated, w.kept(), "what nobody can read any more is removed")
	w.assertOnlyInSecrets(dbPassword, dbRotated)

	t.Log("who may not, each with its own error (RELATIONS.md P4)")
	other := *w
	other.namespace = w.newNamespace(map[string]string{application.LabelOptIn: application.OptedIn})
	other.create(other.consumer("db", map[string]string{application.KeyProvides: "main:pg"}), other.consumer("web", consumes("store:pg", "db")))
	abroad := other.speaker(c, "web", "10.9.1.1")
	hears(t, abroad.stream, "a relation of its own", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 1 && s.GetUnit().GetKnown() })
	forged := &speaker{token: web.token[:len(web.token)-4] + "AAAA", api: web.api}
	code := func(s *speaker) connect.Code {
		_, err := w.get(s, &wire.GetSecretRequest{Id: ordersSecret})
		if err != nil {
			assert.NotContains(t, err.Error(), "hunter")
		}
		return connect.CodeOf(err)
	}
	assert.Equal(t, connect.CodeFailedPrecondition, code(cms), "related to the owner, and not granted: it may come")
	_, err = w.get(cms, &wire.GetSecretRequest{Id: ordersSecret})
	refused, ok := errors.AsType[*connect.Error](err)
	require.True(t, ok)
	assert.Contains(t, refused.Meta().Get("Orcon-Cure"), "secret-grant", "a refusal says what to do")
	assert.Equal(t, connect.CodeNotFound, code(abroad), "a namesake in another namespace: no such secret there (SAFETY.md M7)")
	assert.Equal(t, connect.CodeUnauthenticated, code(forged))
	webTerm := w.leads(web)
	for why, err := range map[string]error{
		"its reader does not change it":  w.secrets(web, webTerm, nil, setting("x12")),
		"nor grant it":                   w.secrets(web, webTerm, nil, granting(uid)),
		"who says it leads does not yet": w.secrets(db, term+1, nil, setting("x12")),
	} {
		assert.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), why)
	}
	assert.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(w.secrets(db, term, nil, adding("again"))), "an ID is one secret's")
	assert.Equal(t, connect.CodeNotFound, connect.CodeOf(w.secrets(db, term, nil, granting("00000000-0000-0000-0000-000000000000"))), "no relation of its own")

	t.Log("taken back and given again")
	require.NoError(t, w.secrets(db, term, nil, &wire.SecretWrite{Kind: "revoke", Id: ordersSecret, Access: &wire.SecretAccess{Application: "web"}}))
	assert.Equal(t, connect.CodePermissionDenied, code(web), "taken back")
	require.NoError(t, w.secrets(db, term, nil, granting(uid)))
	_, err = w.get(web, &wire.GetSecretRequest{Id: ordersSecret})
	require.NoError(t, err)
	listed, err := db.api.ListSecrets(w.ctx, asking(db, &wire.ListSecretsRequest{}))
	require.NoError(t, err)
	require.Len(t, listed.Msg.GetSecrets(), 1)
	assert.EqualValues(t, 2, listed.Msg.GetSecrets()[0].GetRevision())
	nothing, err := web.api.ListSecrets(w.ctx, asking(web, &wire.ListSecretsRequest{}))
	require.NoError(t, err)
	assert.Empty(t, nothing.Msg.GetSecrets(), "whoever reads does not manage")

	t.Log("the controller's roles reach no Secret but these")
	w.create(&corev1.Secret{ObjectMeta: w.meta("somebodys"), StringData: map[string]string{"a": "b"}})
	cfg := w.asController()
	cfg.QPS = -1
	as, err := client.New(cfg, client.Options{Scheme: w.scheme})
	require.NoError(t, err)
	require.True(t, apierrors.IsForbidden(as.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "somebodys"}, &corev1.Secret{})))
	require.True(t, apierrors.IsForbidden(as.List(w.ctx, &corev1.SecretList{}, client.InNamespace(w.namespace))))
	require.True(t, apierrors.IsForbidden(as.Create(w.ctx, &corev1.Secret{ObjectMeta: w.meta("another")})))
	require.NoError(t, w.admin.Delete(w.ctx, &corev1.Secret{ObjectMeta: w.meta("somebodys")}))

	t.Log("all units of a consumer read it when they hear of it")
	const crowd = 40
	began, failed := time.Now(), make(chan error, crowd)
	secrets := secrets.Secrets{Contents: secrets.Contents{Reader: as, Writer: as, Now: time.Now, Turns: &object.Turns{}}, Deliveries: delivered{}}
	for i := range crowd {
		go func() {
			_, err := secrets.Secret(w.ctx, []secret.Visitor{{Namespace: w.namespace, Unit: secret.Unit{Application: "web", Number: strconv.Itoa(100 + i)}}}, ordersSecret, secret.Query{})
			failed <- err
		}()
	}
	for range crowd {
		require.NoError(t, <-failed)
	}
	t.Logf("%d units have read it after %s", crowd, time.Since(began).Round(time.Millisecond))

	t.Log("the grant ends with its relation; the secret is its owner's to remove (SAFETY.md E14)")
	r := w.relationsBy("web")
	require.NoError(t, w.admin.Delete(w.ctx, &r))
	w.eventually("the grant is over", func() bool { return code(web) == connect.CodeNotFound })
	assert.Equal(t, dbRotated, w.kept())
	require.NoError(t, w.secrets(db, term, nil, &wire.SecretWrite{Kind: "remove", Id: ordersSecret}))
	assert.Empty(t, w.kept())
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
}

// relationsBy returns the relation of a requirer.
func (w *controllerWorld) relationsBy(requirer string) v1alpha1.Relation {
	w.t.Helper()
	var list v1alpha1.RelationList
	require.NoError(w.t, w.admin.List(w.ctx, &list, client.InNamespace(w.namespace)))
	for _, r := range list.Items {
		if r.Spec.Requirer.Application == requirer {
			return r
		}
	}
	require.Fail(w.t, "no relation of "+requirer)
	return v1alpha1.Relation{}
}

// delivered has nothing to deliver.
type delivered struct{}

func (delivered) Deliver(context.Context, string, []string) error { return nil }

func (delivered) DeliverUnit(context.Context, string, string, string) error { return nil }

func (delivered) Leads(context.Context, string, string, string) (bool, error) { return false, nil }
