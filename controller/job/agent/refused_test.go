package agent

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/golang/glog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// A node that is refused goes on calling: it may be one that waits for a controller which was restored. What it carries out
// goes on.
func TestRefused(t *testing.T) {
	c, m := newController(t), &machine{sights: map[executor.Name]executor.Sight{}}
	a := &Agent{Connection: c.joins(), Executor: m, Proof: unproved, Clock: time.Now, Longest: longest}
	m.show(named(), executor.Sight{Pod: run.Pod{Made: true}})
	a.attempts, a.revision = []*wire.Attempt{offered(nil, wire.Order_ORDER_UNSPECIFIED)}, "1"
	c.mutex.Lock()
	c.refuse = connect.NewError(connect.CodePermissionDenied, errPassing)
	c.mutex.Unlock()
	err := a.sync(t.Context())
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err))
	require.ErrorContains(t, err, "cannot call the controller: ")
	assert.Empty(t, a.revision, "the next answer is a whole one")
	sight, err := m.Look(t.Context(), named())
	require.NoError(t, err)
	assert.True(t, sight.Made)
	c.mutex.Lock()
	c.refuse = nil
	c.mutex.Unlock()
	c.tell(&wire.SyncResponse{Revision: "2", Standing: "Ready: it takes runs"})
	require.NoError(t, a.sync(t.Context()))
	assert.Equal(t, "2", a.revision)
	assert.Equal(t, "Ready: it takes runs", a.standing)
}

// A refusal that is repeated is logged once, also where the certificate is to be renewed; another one at once.
func TestRefusedIsLoggedOnce(t *testing.T) {
	c, m := newController(t), &machine{sights: map[executor.Name]executor.Sight{}}
	c.life = node.CertificateLife / 4
	a := &Agent{Connection: c.joins(), Executor: m, Proof: unproved, Clock: time.Now, Longest: longest}
	refuse := func(why error) {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.refuse = connect.NewError(connect.CodePermissionDenied, why)
	}
	refuse(errPassing)
	before := glog.Stats.Warning.Lines()
	c.run(a)
	for range 10 {
		c.next(func(*wire.SyncRequest) bool { return true })
	}
	assert.Equal(t, int64(2), glog.Stats.Warning.Lines()-before, "one of renewals, one of calls")
	refuse(node.ErrRevoked)
	for range 10 {
		c.next(func(*wire.SyncRequest) bool { return true })
	}
	assert.Equal(t, int64(4), glog.Stats.Warning.Lines()-before)
}

// Authorities that an answer names are trusted from the next call on.
func TestAuthorities(t *testing.T) {
	c, m := newController(t), &machine{sights: map[executor.Name]executor.Sight{}}
	a := &Agent{Connection: c.joins(), Executor: m, Proof: unproved, Clock: time.Now, Longest: longest}
	own := a.Connection.Identity().Authorities
	c.tell(&wire.SyncResponse{Revision: "1", Authorities: []byte(own + own)})
	require.NoError(t, a.sync(t.Context()))
	assert.Equal(t, own+own, a.Connection.Identity().Authorities)
	c.tell(&wire.SyncResponse{Revision: "2", Authorities: []byte("none")})
	require.NoError(t, a.sync(t.Context()))
	c.tell(&wire.SyncResponse{Revision: "3"})
	require.ErrorContains(t, a.sync(t.Context()), "unknown authority")
}

// An agent that ends says nothing more, and an identity that cannot be used is not.
func TestEnds(t *testing.T) {
	c := newController(t)
	ended, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, (&Agent{Connection: c.joins(), Clock: time.Now}).Run(ended))
	fresh, err := New(t.TempDir()+"/i", c.invitation())
	require.NoError(t, err)
	require.Error(t, Join(ended, &Connection{Clock: time.Now}, fresh, c.invitation(), longest))

	i := *c.joins().Identity()
	i.Certificate = strings.Replace(i.Certificate, "CERTIFICATE", "NOTHING", 2)
	require.ErrorContains(t, (&Connection{}).Use(&i), "cannot use the identity of this node")
	_, err = ends(i.Certificate)
	require.ErrorContains(t, err, "remove its identity, and join anew")
	i.Key = "x"
	require.ErrorContains(t, Join(t.Context(), &Connection{Clock: time.Now}, &Identity{Address: c.address}, node.Invitation{}, longest), "it has no key")
	require.NoError(t, os.Remove(i.file))
	gone, err := Load(i.file)
	require.NoError(t, err)
	assert.Nil(t, gone)
}

// An agent that was killed after it had made its key, and before the answer came, joins by the same key.
func TestJoinsAgain(t *testing.T) {
	c := newController(t)
	file := t.TempDir() + "/identity.json"
	first, err := New(file, c.invitation())
	require.NoError(t, err)
	again, err := Load(file)
	require.NoError(t, err)
	require.NoError(t, Join(t.Context(), &Connection{Clock: time.Now}, again, c.invitation(), longest))
	before, err := first.Fingerprint()
	require.NoError(t, err)
	after, err := again.Fingerprint()
	require.NoError(t, err)
	assert.Equal(t, before, after)
	assert.False(t, again.Joined(), "an identity never changes: there is another one")
}
