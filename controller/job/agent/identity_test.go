package agent

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// An identity is in a file of the agent's own, and is the same after a restart, also before it has joined.
func TestIdentity(t *testing.T) {
	file := filepath.Join(t.TempDir(), "identity.json")
	none, err := Load(file)
	require.NoError(t, err)
	assert.Nil(t, none)
	i, err := New(file, node.Invitation{Address: "https://a", Node: "lab"})
	require.NoError(t, err)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	again, err := Load(file)
	require.NoError(t, err)
	assert.Equal(t, i, again)
	key, err := i.Fingerprint()
	require.NoError(t, err)
	assert.Regexp(t, "^sha256:[0-9a-f]{64}$", key)

	for name, text := range map[string]string{"json": "{", "key": `{"key":"x"}`} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			broken, err := Load(file)
			if err == nil {
				_, err = broken.Fingerprint()
			}
			assert.ErrorContains(t, err, "join anew")
		})
	}
	_, err = New(filepath.Join(file, "below"), node.Invitation{})
	assert.ErrorContains(t, err, "cannot store the identity of this node")
}

// An agent joins by the authority that its token names, and by no other, and trusts after that what it was told to.
func TestJoin(t *testing.T) {
	c := newController(t)
	c.refuse = connect.NewError(connect.CodeUnavailable, errPassing)
	connection := c.joins()
	require.Len(t, c.joined, 2, "it calls again")
	assert.Equal(t, c.joined[0].GetRequest()[:40], c.joined[1].GetRequest()[:40])
	assert.Equal(t, "lab word", c.joined[0].GetNode()+" "+c.joined[0].GetToken())
	i := connection.Identity()
	assert.True(t, i.Joined())
	stored, err := Load(i.file)
	require.NoError(t, err)
	assert.Equal(t, i, stored)
	require.NoError(t, Join(t.Context(), connection, stored, node.Invitation{}, longest), "it has joined")
	assert.Len(t, c.joined, 2)

	c.refuse = connect.NewError(connect.CodePermissionDenied, errPassing)
	fresh, err := New(filepath.Join(t.TempDir(), "i"), c.invitation())
	require.NoError(t, err)
	require.ErrorContains(t, Join(t.Context(), &Connection{Clock: time.Now}, fresh, c.invitation(), longest), "cannot join as RunNode lab")
}

// What the controller shows must be signed by an authority that is trusted, and be valid by the clock of this machine.
func TestVerified(t *testing.T) {
	c := newController(t)
	call := func(clock func() time.Time, authorities ...string) error {
		i, err := New(filepath.Join(t.TempDir(), "i"), c.invitation())
		require.NoError(t, err)
		connection := &Connection{Clock: clock}
		require.NoError(t, connection.Use(i, authorities...))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.address, http.NoBody)
		require.NoError(t, err)
		answer, err := connection.RoundTrip(r)
		if err == nil {
			assert.Equal(t, "HTTP/2.0", answer.Proto)
			_ = answer.Body.Close()
		}
		return err
	}
	trusted := c.invitation().Authorities[0]
	require.NoError(t, call(time.Now, trusted))
	require.ErrorContains(t, call(time.Now, node.Digest([]byte("another"))), "unknown authority")
	require.ErrorContains(t, call(time.Now), "unknown authority")
	err := call(func() time.Time { return time.Now().Add(-48 * time.Hour) }, trusted)
	require.ErrorContains(t, err, "the clock of this machine shows "+time.Now().Add(-48*time.Hour).UTC().Format("2006-01-02"))
	require.ErrorContains(t, err, "the controller has signed its certificate at "+time.Now().UTC().Format("2006-01-02"))
}

// An agent that is told of other authorities trusts them from then on, also after a restart.
func TestTrusting(t *testing.T) {
	c := newController(t)
	i := c.joins().Identity()
	same, err := i.trusting(&wire.SyncResponse{Authorities: []byte(i.Authorities)})
	require.NoError(t, err)
	assert.Same(t, i, same)
	same, err = i.trusting(&wire.SyncResponse{})
	require.NoError(t, err)
	assert.Same(t, i, same, "a controller that tells none takes none away")
	next, err := i.trusting(&wire.SyncResponse{Authorities: []byte(i.Authorities + "\n"), Recipient: "age1x"})
	require.NoError(t, err)
	stored, err := Load(i.file)
	require.NoError(t, err)
	assert.Equal(t, next, stored)
}
