package jobsapi_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	tarball "gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/envelope"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/jobsapi"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/contents"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/chunk"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// JOBS.md J16: a run gets its content, whose digest comes with the claim.
func TestContent(t *testing.T) {
	b := newBench(t)
	var tree, got bundle.Tree
	require.NoError(t, tree.Add("main.tf", bundle.File{Content: []byte("x")}))
	digest, err := contents.Put(t.Context(), b.api.Store, "shop", &tree)
	require.NoError(t, err)
	c := b.client(t, "r", "p")
	caller := serve.Caller{Workspace: "w", Run: workspace.Run{UID: "r", Name: "r"}, Claimant: workspace.Claimant{ID: "p", Where: "node"}}
	b.Add("p", caller, serve.Run{Namespace: "shop", Content: digest})
	h, err := c.Claim(t.Context(), keeper.Claimant{Run: "r", Attempt: 1, Place: "p"})
	require.NoError(t, err)
	assert.Equal(t, digest, h.Content)
	in, err := c.Content(t.Context())
	require.NoError(t, err)
	require.NoError(t, tarball.Untar(in, got.Add))
	require.NoError(t, in.Close())
	assert.Equal(t, tree, got)
	b.Add("p", caller, serve.Run{})
	_, err = c.Content(t.Context())
	require.ErrorIs(t, err, blob.ErrNotFound, "its image has it")
}

// vault has one value.
type vault struct{}

// Check implements serve.SecretSource.
func (vault) Check(context.Context, string, []run.SecretFile) error { return nil }

// Read implements serve.SecretSource.
func (vault) Read(_ context.Context, _ string, files []run.SecretFile) (map[string][]byte, error) {
	return map[string][]byte{files[0].Name: bytes.Repeat([]byte("x"), 6<<20)}, nil
}

// JOBS.md J14: a node gets the secrets of a run that it has claimed, sealed, also large ones; before the claim it starts nothing.
func TestSecrets(t *testing.T) {
	b := newBench(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := b.client(t, "r", "p")
	caller := serve.Caller{Workspace: "w", Run: workspace.Run{UID: "r", Name: "r"}, Claimant: workspace.Claimant{ID: "p", Where: "p"}, Key: key.Public()}
	b.Add("p", caller, serve.Run{Secrets: []run.SecretFile{{Name: "a"}}})
	_, err = c.Secrets(t.Context())
	require.ErrorIs(t, err, keeper.ErrStale)
	_, err = c.Claim(t.Context(), keeper.Claimant{Run: "r", Attempt: 1, Place: "p"})
	require.NoError(t, err)
	sealed, err := c.Secrets(t.Context())
	require.NoError(t, err)
	text, err := envelope.Open(key, "r", sealed)
	require.NoError(t, err)
	assert.Greater(t, len(text), 8<<20)
}

// JOBS-DESIGN.md 16: a pod fetches the tokens of a run that it has claimed.
func TestTokens(t *testing.T) {
	b := newBench(t)
	c := b.client(t, "r", "p")
	caller := serve.Caller{Workspace: "w", Run: workspace.Run{UID: "r", Name: "r"}, Claimant: workspace.Claimant{ID: "p", Where: "p"}}
	b.Add("p", caller, serve.Run{Secrets: []run.SecretFile{{Name: "a", JoinToken: "lab"}}})
	_, err := jobsapi.Tokens{Client: c}.Secrets(t.Context())
	require.ErrorIs(t, err, keeper.ErrStale)
	_, err = c.Claim(t.Context(), keeper.Claimant{Run: "r", Attempt: 1, Place: "p"})
	require.NoError(t, err)
	values, err := jobsapi.Tokens{Client: c}.Secrets(t.Context())
	require.NoError(t, err)
	assert.Len(t, values["a"], 6<<20)
}

// JOBS.md J3 and J10: a run over HTTP, and the next one begins from what it left.
func TestRun(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	c := b.client(t, "r", "p")
	h, err := c.Claim(ctx, keeper.Claimant{Run: "r", Attempt: 1, Place: "p"})
	require.NoError(t, err)
	assert.Equal(t, keeper.Hold{
		Workspace: "w", Fence: 1, Parameters: `{"a":1}`, Environment: []string{"ORCON_GENERATION=0"}, Exclusive: true,
		Lost: time.Minute, Grace: 2 * time.Minute,
	}, h)
	holder := keeper.Holder{Claimant: keeper.Claimant{Run: "r", Attempt: 1, Place: "p"}, Fence: 1}
	for range 2 {
		_, err = c.Renew(ctx, holder, job.Delay{Stage: job.Preparing, Why: "it waits"})
		require.NoError(t, err)
	}
	renewals := b.Renewals("r")
	require.Len(t, renewals, 2)
	assert.Greater(t, renewals[1].Number, renewals[0].Number, "each proves life")
	assert.Equal(t, job.Delay{Stage: job.Preparing, Why: "it waits"}, renewals[1].Delay)
	s := archive(1, "state")
	require.NoError(t, c.Put(ctx, s.Blob, strings.NewReader("state")))
	require.NoError(t, c.Checkpoint(ctx, holder, keeper.Checkpoint{Sequence: 1, State: s, Torn: true}))
	assert.True(t, b.Workspace("w").Checkpoint.Torn)
	require.NoError(t, c.Write(ctx, chunk.Chunk{Fence: 1, Stream: "stdout", Number: 1, Content: []byte("hello")}))
	require.NoError(t, c.End(ctx, holder, keeper.End{Outcome: job.Committed, State: &s, Process: exchange.Ended{Code: 137, Ran: true, Killed: true, OutOfMemory: true}}))
	assert.Equal(t, job.Exit{Code: 137, Cause: job.OutOfMemory}, b.Workspace("w").State.Exit)

	require.NoError(t, b.Change("w", accept))
	b.admit(t, "r2")
	next := b.client(t, "r2", "p2")
	h, err = next.Claim(ctx, keeper.Claimant{Run: "r2", Attempt: 1, Place: "p2"})
	require.NoError(t, err)
	assert.Equal(t, int64(1), h.Generation)
	require.NotNil(t, h.Base)
	assert.Equal(t, s.Blob, h.Base.Blob)
	in, err := next.Get(ctx, h.Base.Blob)
	require.NoError(t, err)
	text, err := io.ReadAll(in)
	require.NoError(t, err)
	require.NoError(t, in.Close())
	assert.Equal(t, "state", string(text))
}

// Each error of the API has one meaning for a keeper.
func TestErrors(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	p, q := b.client(t, "r", "p"), b.client(t, "r", "q")
	_, err := p.Claim(ctx, keeper.Claimant{Run: "r", Attempt: 1, Place: "p"})
	require.NoError(t, err)
	_, err = q.Claim(ctx, keeper.Claimant{Run: "r", Attempt: 1, Place: "q"})
	require.ErrorIs(t, err, keeper.ErrConflict, "two claimants: the first one has it")
	_, err = p.Renew(ctx, keeper.Holder{Fence: 7}, job.Delay{})
	require.ErrorIs(t, err, keeper.ErrStale)
	key := archive(1, "x").Blob
	_, err = p.Get(ctx, key)
	require.ErrorIs(t, err, blob.ErrNotFound)
	require.NoError(t, p.Put(ctx, key, strings.NewReader("x")))
	require.ErrorIs(t, p.Put(ctx, key, strings.NewReader("y")), keeper.ErrRefused)
	require.ErrorIs(t, p.Put(ctx, archive(1, "large").Blob, strings.NewReader(strings.Repeat("x", 1<<20+1))), keeper.ErrRefused)
	require.NoError(t, os.WriteFile(p.TokenFile, []byte("expired"), 0o600))
	_, err = p.Renew(ctx, keeper.Holder{Fence: 1}, job.Delay{})
	require.ErrorContains(t, err, "the token is not good")
	for _, final := range []error{keeper.ErrStale, keeper.ErrConflict, keeper.ErrRefused} {
		require.NotErrorIs(t, err, final, "the kubelet writes another token")
	}
	require.NoError(t, os.WriteFile(p.TokenFile, []byte("p"), 0o600))
	_, err = p.Renew(ctx, keeper.Holder{Fence: 1}, job.Delay{})
	require.NoError(t, err, "and it is read for each call")
}

// What is no answer of the jobs API is passing, and never taken for one.
func TestOtherServer(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	c := newBench(t).client(t, "r", "p")
	c.Address = other.URL
	_, err := c.Claim(t.Context(), keeper.Claimant{Run: "r", Attempt: 1, Place: "p"})
	require.ErrorContains(t, err, "404 Not Found: is something else at its address?")
	_, err = c.Get(t.Context(), archive(1, "x").Blob)
	require.NotErrorIs(t, err, blob.ErrNotFound)
}
