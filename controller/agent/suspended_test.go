package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// The events of a suspension are handled while it lasts: what the other side has written reads as empty, since its consent is
// withdrawn, and what a handler of such an event writes there is dropped. Otherwise the unit's other relations would wait
// until the relation is resumed (RELATIONS.md E2, E4).
func TestHandlersOfASuspension(t *testing.T) {
	s := newStage(t)
	s.leader(&wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 2})
	two := func(revision uint64) *wire.Snapshot {
		known := heardAt(revision)
		r := known.GetRelations()[0]
		r.Departed = nil
		r.Units = append(r.Units, &wire.RemoteUnit{Number: 1, Bag: &wire.Databag{Data: map[string]string{"ingress-address": "10.0.0.2"}}})
		return known
	}
	hear(s.agent, two(2))
	for range 6 { // to joined of the second unit
		s.done(s.next(), "")
	}
	suspended := two(3)
	r := suspended.GetRelations()[0]
	r.Suspended, r.Bag, r.Units = true, nil, nil
	hear(s.agent, suspended)

	for _, want := range []string{"changed db/1", "departed db/0", "departed db/1", "broken "} {
		turn := s.next()
		require.Equal(t, "store-relation-"+want, turn.Hook+" "+turn.Env["JUJU_REMOTE_UNIT"])
		for _, words := range [][]string{
			{"relation-get", "ingress-address", "db/0"}, {"relation-get", "ingress-address", "db/1"}, {"relation-get", "--app", "host"},
			{"relation-set", "units=0"}, {"relation-set", "--app", "units=0"},
			{"secret-grant", someID, "-r", "7"}, {"secret-revoke", someID, "-r", "7"},
		} {
			result := s.types(turn, words...)
			assert.Zero(t, result.ExitCode, "%s: %v: %s", want, words, result.Stderr)
			assert.Empty(t, result.Stdout)
		}
		s.done(turn, "")
		require.NotContains(t, s.agent.handlers.status(), "failed")
	}
	s.nothing()
	require.Len(t, s.controller.commits, 4)
	for _, commit := range s.controller.commits {
		assert.Empty(t, commit.GetChanges())
		require.Len(t, commit.GetSecrets(), 1)
		assert.Equal(t, "revoke", commit.GetSecrets()[0].GetKind(), "what is taken back stays so when the relation is resumed")
	}
}
