package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// terminal types tools into the agent of unit web/2, which is related to db.
type terminal struct {
	t          *testing.T
	controller *controller
	agent      *Agent
}

func newTerminal(t *testing.T) terminal {
	c := &controller{revision: 1, leader: &wire.LeadResponse{}}
	a := New(settings(t, "store:pg", ""), newVolumes(t, t.TempDir()).disk(), c, nil)
	a.Start()
	return terminal{t, c, a}
}

func (x terminal) types(line string, files ...string) tool.Result {
	x.t.Helper()
	words := strings.Fields(line)
	call := tool.Call{Name: words[0], Args: words[1:], Files: map[string][]byte{}}
	for i := 0; i+1 < len(files); i += 2 {
		call.Files[files[i]] = []byte(files[i+1])
	}
	body, err := json.Marshal(call)
	require.NoError(x.t, err)
	w := httptest.NewRecorder()
	x.agent.ToolHandler("app").ServeHTTP(w, httptest.NewRequest(http.MethodPost, pathTool, bytes.NewReader(body)))
	require.Equal(x.t, http.StatusOK, w.Code, w.Body.String())
	var result tool.Result
	require.NoError(x.t, json.Unmarshal(w.Body.Bytes(), &result))
	return result
}

// A container reads and writes by Juju's tools; each call is a transaction of its
// own (RELATIONS.md E11), and a refusal says of which kind it is (P4).
func TestTools(t *testing.T) {
	x := newTerminal(t)
	early := x.types("relation-ids store")
	assert.Equal(t, 1, early.ExitCode)
	assert.Contains(t, string(early.Stderr), "ERROR not-yet: ")

	hear(x.agent, heardAt(1))
	assert.Equal(t, "store:7\n", string(x.types("relation-ids store").Stdout))
	assert.Equal(t, "db/0\n", string(x.types("relation-list -r store:7").Stdout))
	assert.Equal(t, "10.0.0.1\n", string(x.types("relation-get -r 7 ingress-address db/0").Stdout))
	assert.Equal(t, "h\n", string(x.types("relation-get -r 7 --app host").Stdout))

	written := x.types("relation-set -r 7 name=n port=")
	require.Zero(t, written.ExitCode, string(written.Stderr))
	require.Len(t, x.controller.commits, 1)
	assert.Equal(t, map[string]string{"name": "n", "port": ""}, x.controller.commits[0].GetChanges()[0].GetSet())

	refused := x.types("relation-set -r 7 --app database=d2")
	assert.Equal(t, 1, refused.ExitCode)
	assert.Contains(t, string(refused.Stderr), "ERROR forbidden: ")
	assert.Len(t, x.controller.commits, 1, "nothing was said")
	assert.Equal(t, "False\n", string(x.types("is-leader").Stdout))
	x.controller.leader = &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 2}
	assert.Equal(t, "True\n", string(x.types("is-leader").Stdout))
	asked := x.types("relation-set -r 7 --app --file -", tool.Stdin, "database: d2\n")
	require.Zero(t, asked.ExitCode, string(asked.Stderr))
	assert.EqualValues(t, 2, x.controller.commits[1].GetTerm())

	assert.Contains(t, string(x.types("goal-state --format json").Stdout), `"db/0"`)
	assert.Equal(t, 2, x.types("relation-set -r").ExitCode)
	assert.Contains(t, string(x.types("relation-gte").Stderr), "did you mean relation-get?")
	assert.Contains(t, string(x.types("relation-model-get").Stderr), "this version of Orcon does not implement it")
}

// What the other application has written is read also while the controller is away, and who reads that asks for no leadership.
func TestToolsReadWhileTheControllerIsAway(t *testing.T) {
	x := newTerminal(t)
	hear(x.agent, heardAt(1))
	x.controller.err = errors.New("cannot reach the controller")
	for line, want := range map[string]string{
		"relation-get -r 7 --app host": "h\n", "relation-get -r 7 host db": "h\n", "relation-list -r 7 --app": "db\n",
	} {
		answer := x.types(line)
		assert.Equal(t, want, string(answer.Stdout), "%s: %s", line, answer.Stderr)
	}
	assert.Empty(t, x.controller.leads)
	assert.NotZero(t, x.types("relation-get -r 7 --app database web").ExitCode, "the leader alone reads its own application's")
}

// The address of a unit is that of its pod, whatever the unit gives the other end of a relation in its place: a program cannot
// listen at the address of a load balancer (RELATIONS.md L2).
func TestNetworkGetKnowsThePod(t *testing.T) {
	x := newTerminal(t)
	snapshot := heardAt(1)
	snapshot.Own[0].Bag.Data = map[string]string{
		"ingress-address": "lb.example.org", "private-address": "10.0.0.2", "egress-subnets": "10.0.0.2/32",
	}
	hear(x.agent, snapshot)
	for flag, want := range map[string]string{
		"--bind-address": "10.0.0.2\n", "--ingress-address": "10.0.0.2\n", "--egress-subnets": "10.0.0.2/32\n",
	} {
		answer := x.types("network-get cache " + flag)
		assert.Equal(t, want, string(answer.Stdout), "%s: %s", flag, answer.Stderr)
	}
	snapshot = heardAt(2)
	snapshot.Own[0].Bag.Data = map[string]string{"ingress-address": "10.0.0.2", "private-address": "db.example.org"}
	hear(x.agent, snapshot)
	assert.Equal(t, "10.0.0.2\n", string(x.types("network-get cache --bind-address").Stdout))
}

// Nobody can make the agent read without end.
func TestToolsAreBounded(t *testing.T) {
	w := httptest.NewRecorder()
	newTerminal(t).agent.ToolHandler("app").ServeHTTP(w, httptest.NewRequest(http.MethodPost, pathTool, strings.NewReader(`{"Name":"`+strings.Repeat("a", maxCall)+`"}`)))
	assert.Equal(t, http.StatusBadRequest, w.Code)
}
