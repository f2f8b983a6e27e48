package integration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/identity"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// assembly reads snapshots in pieces.
type assembly struct {
	t      *testing.T
	stream *agentStream
	text   []byte
	bags   map[string]map[string]string // by version
	many   int                          // how many bags have come
}

// next returns the next snapshot that the test wants.
func (a *assembly) next(what string, wanted func(*wire.Snapshot) bool) *wire.Snapshot {
	a.t.Helper()
	for {
		message, err := a.stream.Receive()
		require.NoError(a.t, err, what)
		if snapshot := message.GetSnapshot(); snapshot != nil {
			if wanted(snapshot) {
				return snapshot
			}
			continue
		}
		a.text = append(a.text, message.GetPiece().GetText()...)
		if version := message.GetPiece().GetVersion(); version != "" {
			bag, err := databag.Decode(string(a.text))
			require.NoError(a.t, err)
			require.Equal(a.t, version, databag.Version(bag))
			a.bags[version], a.text = bag, nil
			a.many++
		}
	}
}

// TRUST.md U2: what units commit reaches the other side in pieces, each bag once, and after a change the changed one alone.
func TestControllerSendsPieces(t *testing.T) {
	t.Parallel()
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(w.consumer("db", map[string]string{application.KeyProvides: "main:pg"}), w.consumer("web", consumes("store:pg", "db")))
	web, db := w.speaker(c, "web", "10.9.0.1"), w.speaker(c, "db", "10.9.0.2")
	joined := func(s *wire.Snapshot) bool {
		return len(s.GetRelations()) == 1 && len(s.GetRelations()[0].GetUnits()) == 1 && len(s.GetOwn()) == 1
	}
	uid := hears(t, db.stream, "its relation and the other's unit", joined).GetRelations()[0].GetUid()

	large := &wire.Change{Relation: uid, Set: map[string]string{}}
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		large.Set[key] = strings.Repeat(key, 60<<10)
	}
	require.NoError(t, db.commit(w.ctx, 0, large))
	a := assembly{t: t, bags: map[string]map[string]string{}}
	a.stream = w.openStream(c.client(t), c.api.URL, &wire.Hello{Token: w.token(web.pod, identity.Audience), Pieces: true}, 2*soon)
	said := func(key, value string) func(*wire.Snapshot) bool {
		return func(s *wire.Snapshot) bool {
			return joined(s) && a.bags[s.GetRelations()[0].GetUnits()[0].GetBag().GetVersion()][key] == value
		}
	}
	first := a.next("the large bag", said("a", large.GetSet()["a"]))
	assert.Empty(t, first.GetRelations()[0].GetUnits()[0].GetBag().GetData(), "it has come before")
	assert.Equal(t, "10.9.0.1", a.bags[first.GetOwn()[0].GetBag().GetVersion()]["ingress-address"])
	for key, value := range large.GetSet() {
		assert.True(t, said(key, value)(first), key)
	}

	before := a.many
	require.NoError(t, web.commit(w.ctx, 0, change(uid, false, "version", "9")))
	a.next("its own change", func(s *wire.Snapshot) bool { return a.bags[s.GetOwn()[0].GetBag().GetVersion()]["version"] == "9" })
	assert.Equal(t, 1, a.many-before, "the large bag is not sent again")
}
