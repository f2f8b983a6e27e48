package integration

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/keyutil"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/identity"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// operations are all that the relations API can be asked, about a relation and a
// secret where one is named.
func operations(relation, secret string) map[string]func(ctx context.Context, s *speaker) error {
	bag := []*wire.Change{change(relation, false, "stolen", "yes")}
	return map[string]func(ctx context.Context, s *speaker) error{
		"Converse": func(_ context.Context, s *speaker) error { _, err := s.stream.Receive(); return err },
		"Get": func(ctx context.Context, s *speaker) error {
			_, err := s.api.Get(ctx, asking(s, &wire.GetRequest{}))
			return err
		},
		"Commit": func(ctx context.Context, s *speaker) error {
			_, err := s.api.Commit(ctx, asking(s, &wire.CommitRequest{Changes: bag}))
			return err
		},
		"Lead": func(ctx context.Context, s *speaker) error {
			_, err := s.api.Lead(ctx, asking(s, &wire.LeadRequest{}))
			return err
		},
		"Leave": func(ctx context.Context, s *speaker) error {
			_, err := s.api.Leave(ctx, asking(s, &wire.LeaveRequest{Relation: relation}))
			return err
		},
		"GetSecret": func(ctx context.Context, s *speaker) error {
			_, err := s.api.GetSecret(ctx, asking(s, &wire.GetSecretRequest{Id: secret}))
			return err
		},
		"ListSecrets": func(ctx context.Context, s *speaker) error {
			_, err := s.api.ListSecrets(ctx, asking(s, &wire.ListSecretsRequest{}))
			return err
		},
		"Report": func(ctx context.Context, s *speaker) error {
			_, err := s.api.Report(ctx, asking(s, &wire.ReportRequest{}))
			return err
		},
		"SetStatus": func(ctx context.Context, s *speaker) error {
			_, err := s.api.SetStatus(ctx, asking(s, &wire.SetStatusRequest{Relation: relation, Status: &wire.Status{State: "active"}}))
			return err
		},
		"GetStatus": func(ctx context.Context, s *speaker) error {
			_, err := s.api.GetStatus(ctx, asking(s, &wire.GetStatusRequest{}))
			return err
		},
	}
}

// Whoever shows no good token of a living pod is refused, whatever it asks; and a pod
// of another namespace learns and changes nothing of a relation or secret that it can
// name, not even whether there is one (SAFETY.md S4, M7, RELATIONS.md P).
func TestControllerRefusesEachOperation(t *testing.T) {
	w, elsewhere := newControllerWorld(t), newControllerWorld(t)
	c := w.controller(-1)
	w.create(w.consumer("db", map[string]string{application.KeyProvides: "main:pg"}), w.consumer("web", consumes("store:pg", "db")))
	elsewhere.create(elsewhere.consumer("db", map[string]string{application.KeyProvides: "main:pg"}), elsewhere.consumer("web", consumes("store:pg", "db")))
	web, outsider := w.speaker(c, "web", "10.9.0.1"), elsewhere.speaker(c, "web", "10.9.0.2")
	joined := func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 1 && len(s.GetOwn()) == 1 }
	uid := hears(t, web.stream, "its relation", joined).GetRelations()[0].GetUid()
	hears(t, outsider.stream, "its own relation", joined)
	term := w.leads(web)
	require.NoError(t, w.secrets(web, term, nil, adding("hunter2")))
	list, err := web.api.ListSecrets(w.ctx, asking(web, &wire.ListSecretsRequest{}))
	require.NoError(t, err)
	secret := list.Msg.GetSecrets()[0].GetId()

	tokens := map[string]string{
		"None":          "",
		"WrongAudience": w.token(web.pod, "https://kubernetes.default.svc"),
		"OfNoPod":       w.token(nil, identity.Audience),
		"Forged":        web.token[:len(web.token)-8] + "AAAAAAAA",
		"Expired":       w.expired(web.token),
	}
	for name, token := range tokens {
		stranger := &speaker{token: token, stream: w.agent(c, token)}
		stranger.turnTo(t, c)
		for operation, ask := range operations(uid, secret) {
			assert.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(ask(w.ctx, stranger)), "%s: %s", name, operation)
		}
	}

	t.Log("a pod of another namespace, with a good token of its own")
	unknown := operations("00000000-0000-0000-0000-000000000000", "9m4e2mr0ui3e8a215n4g")
	before := w.versions()
	for operation, ask := range operations(uid, secret) {
		if operation == "Converse" {
			continue // it has its own
		}
		got, want := ask(w.ctx, outsider), unknown[operation](w.ctx, outsider)
		assert.Equal(t, connect.CodeOf(want), connect.CodeOf(got), operation)
		if want != nil {
			hide := strings.NewReplacer(uid, "", secret, "", "00000000-0000-0000-0000-000000000000", "", "9m4e2mr0ui3e8a215n4g", "")
			assert.Equal(t, hide.Replace(want.Error()), hide.Replace(got.Error()), operation)
		}
	}
	assert.Equal(t, before, w.versions(), "nothing was written")
	require.NoError(t, elsewhere.admin.Delete(w.ctx, outsider.pod))
	require.NoError(t, w.admin.Delete(w.ctx, web.pod))
}

// expired makes of a good token one that the API server signed, as its key is the same,
// and that is over.
func (w *controllerWorld) expired(token string) string {
	w.t.Helper()
	parts := strings.Split(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(w.t, err)
	claims := map[string]any{}
	require.NoError(w.t, json.Unmarshal(text, &claims))
	claims["exp"] = time.Now().Add(-time.Hour).Unix()
	claims["iat"], claims["nbf"] = time.Now().Add(-2*time.Hour).Unix(), time.Now().Add(-2*time.Hour).Unix()
	text, err = json.Marshal(claims)
	require.NoError(w.t, err)
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(text)
	private, err := keyutil.PrivateKeyFromFile(filepath.Join(w.cluster.Dir, "pki", "sa.key"))
	require.NoError(w.t, err)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, private.(*ecdsa.PrivateKey), sum[:]) //nolint:forcetypeassert // the cluster makes it so
	require.NoError(w.t, err)
	var signature [64]byte
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature[:])
}
