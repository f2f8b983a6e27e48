package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// What is said by status-set goes to the controller at once, the leader's with its
// term; status-get prints what the controller says (RELATIONS.md L3).
func TestStatusTools(t *testing.T) {
	x := newTerminal(t)
	hear(x.agent, heardAt(1))
	require.Zero(t, x.types("status-set waiting primary").ExitCode)
	said := x.controller.statuses[0]
	assert.Equal(t, "waiting", said.GetStatus().GetState())
	assert.Equal(t, "primary", said.GetStatus().GetMessage())
	assert.Empty(t, x.controller.leads, "who speaks for himself need not lead")

	x.controller.leader = &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 3}
	require.Zero(t, x.types("status-set --application active").ExitCode)
	assert.True(t, x.controller.statuses[1].GetApplication())
	assert.EqualValues(t, 3, x.controller.statuses[1].GetTerm())
	require.Zero(t, x.types("status-set -r store:7 --code NoDatabase --resolution ask blocked none").ExitCode)
	side := x.controller.statuses[2]
	assert.Equal(t, "r", side.GetRelation())
	assert.EqualValues(t, 3, side.GetTerm())
	assert.Equal(t, []string{"blocked", "none", "NoDatabase", "ask"},
		[]string{side.GetStatus().GetState(), side.GetStatus().GetMessage(), side.GetStatus().GetCode(), side.GetStatus().GetResolution()})
	assert.Empty(t, x.controller.commits, "none of it is a transaction")

	x.controller.status = &wire.GetStatusResponse{}
	assert.Equal(t, "unknown\n", string(x.types("status-get").Stdout))
	x.controller.status = &wire.GetStatusResponse{Status: &wire.Status{State: "active"}, Units: []*wire.UnitStatus{{Number: 2, Status: &wire.Status{State: "blocked", Message: "disk"}}}}
	assert.JSONEq(t, `{"application-status":{"message":"","status":"active","status-data":{},"units":{"web/2":{"message":"disk","status":"blocked","status-data":{}}}}}`,
		string(x.types("status-get --application --include-data --format json").Stdout))
	assert.True(t, x.controller.asked[1].GetApplication())

	x.controller.mute = &conversation.Error{Kind: conversation.Forbidden, Message: "the unit is not its application's leader", Cure: "only the leader may"}
	assert.Contains(t, string(x.types("status-get --application").Stderr), "ERROR forbidden: ")
	assert.Contains(t, string(x.types("status-set --application active").Stderr), "ERROR forbidden: ")
}

// A status holds whether the handler succeeds or fails (RELATIONS.md E11).
func TestStatusOfAHandlerThatFails(t *testing.T) {
	s := newStage(t)
	turn := s.next()
	require.Zero(t, s.types(turn, "status-set", "blocked", "no such table").ExitCode)
	require.Zero(t, s.types(turn, "relation-set", "name=n").ExitCode)
	assert.Len(t, s.controller.statuses, 1, "at once")
	s.done(turn, "exit code 1: no such table")
	assert.Empty(t, s.controller.commits)
	assert.Len(t, s.controller.statuses, 1)
}
