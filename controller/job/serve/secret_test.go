package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/envelope"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// vault has one value for all files of namespace ns.
type vault struct{}

// Check implements serve.SecretSource.
func (vault) Check(context.Context, string, []run.SecretFile) error { return nil }

// Read implements serve.SecretSource.
func (vault) Read(_ context.Context, namespace string, files []run.SecretFile) (map[string][]byte, error) {
	if namespace != "ns" {
		return nil, errors.New("cannot read Secret " + namespace + "/db")
	}
	values := map[string][]byte{}
	for _, f := range files {
		values[f.Name] = []byte("s3cret")
	}
	return values, nil
}

// JOBS.md J14: only the node that has claimed a run gets its secrets, sealed for the key of that node.
func TestSecrets(t *testing.T) {
	b := newBench(t)
	b.api.Secrets = vault{}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	other, _, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	node := func(uid, id string, key any, namespace string) {
		c := serve.Caller{Workspace: "w", Run: workspace.Run{UID: uid, Name: uid}, Claimant: workspace.Claimant{ID: id, Where: "lab"}, Key: key}
		b.Add(id, c, serve.Run{Namespace: namespace, Secrets: []run.SecretFile{{Name: "password", Secret: "db", Key: "k"}}})
	}
	node("other", "lab-2", key.Public(), "ns")
	node("r", "lab", key.Public(), "ns")
	get := request{why: "nothing is claimed", token: "lab", method: "GET", path: "r/secrets", status: 409, reason: runner.Stale}
	b.send(t, get)
	b.send(t, request{token: "lab", method: "POST", path: "r/claim", body: claimOf + `lab"}`, status: 200})
	get.status = 200
	sealed := b.send(t, get)
	assert.NotContains(t, sealed, "s3cret")
	text, err := envelope.Open(key, "r", []byte(sealed))
	require.NoError(t, err)
	assert.JSONEq(t, `{"password":"czNjcmV0"}`, string(text))

	b.all(t,
		request{why: "another run", token: "lab-2", method: "GET", path: "r/secrets", status: 403, reason: runner.Forbidden},
		request{why: "a run that has no lock", token: "lab-2", method: "GET", path: "other/secrets", status: 409, reason: runner.Stale},
	)
	node("r", "lab", other, "ns")
	get.status, get.reason, get.says = 503, runner.Unavailable, "the key is not of P-256"
	b.send(t, get)
	node("r", "lab", key.Public(), "elsewhere")
	get.says = "cannot read Secret elsewhere/db"
	b.send(t, get)
}

// JOBS-DESIGN.md 16: the pod that has claimed a run gets its tokens, again when it asks again. It has its Secrets by the kubelet.
func TestTokens(t *testing.T) {
	b := newBench(t)
	b.api.Secrets = vault{}
	files := []run.SecretFile{{Name: "password", Secret: "db", Key: "k"}, {Name: "token", JoinToken: "lab"}}
	c := serve.Caller{Workspace: "w", Run: workspace.Run{UID: "r", Name: "r"}, Claimant: workspace.Claimant{ID: "p", Where: "n1"}}
	b.Add("p", c, serve.Run{Namespace: "ns", Secrets: files})
	get := request{why: "nothing is claimed", token: "p", method: "GET", path: "r/secrets", status: 409, reason: runner.Stale}
	b.send(t, get)
	b.send(t, request{token: "p", method: "POST", path: "r/claim", body: claimOf + `p"}`, status: 200})
	get.status = 200
	for range 2 {
		assert.JSONEq(t, `{"token":"czNjcmV0"}`, b.send(t, get))
	}
}
